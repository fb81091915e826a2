/* SPDX-License-Identifier: MIT */
/*
 * shadow/path/object_path.h - the path that a lock had when it was last released
 *
 * Many locks are never used: the path, three quarters of what a lock takes, comes with the first
 * release that is published, and stays with the row. Who holds the lock for writing may write it,
 * who holds it for reading may read it.
 */
#ifndef CPA_SHADOW_PATH_OBJECT_PATH_H
#define CPA_SHADOW_PATH_OBJECT_PATH_H

#include "shadow/store/session.h"

/* Empty, and nobody's. */
extern CPA_HIDDEN const struct cpa_path cpa_path_of_none;

/* Where the path of @o lies; not to be read if it has none. */
static inline struct cpa_path *cpa_object_place(const struct cpa_object *o)
{
	return cpa_at((uint64_t)o->path * CPA_CACHE_LINE);
}

/* The path of @o, for reading. */
static inline const struct cpa_path *cpa_object_path(const struct cpa_object *o)
{
	return likely(o->path) ? cpa_object_place(o) : &cpa_path_of_none;
}

#endif
