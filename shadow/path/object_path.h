/* SPDX-License-Identifier: MIT */
/*
 * shadow/path/object_path.h - the path of a lock at its last release
 *
 * Many locks are never used. A lock's path, three quarters of its memory, is allocated at the first
 * published release and stays with the object's row. A thread that holds the lock for writing may
 * write the path; one that holds it for reading may read it.
 */
#ifndef CPA_SHADOW_PATH_OBJECT_PATH_H
#define CPA_SHADOW_PATH_OBJECT_PATH_H

#include "shadow/store/session.h"

/* An empty path without an owner. */
extern CPA_HIDDEN const struct cpa_path cpa_path_of_none;

/* Return the place of the path of @o; must not be read if o->path is 0. */
static inline struct cpa_path *cpa_object_place(const struct cpa_object *o)
{
	return cpa_at((uint64_t)o->path * CPA_CACHE_LINE);
}

/* Return the path of @o for reading; the empty path if it has none. */
static inline const struct cpa_path *cpa_object_path(const struct cpa_object *o)
{
	return likely(o->path) ? cpa_object_place(o) : &cpa_path_of_none;
}

#endif
