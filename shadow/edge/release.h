/* SPDX-License-Identifier: MIT */
/* shadow/edge/release.h - cpa_lock_release(), inline because each timed use of a lock calls it */
#ifndef CPA_SHADOW_EDGE_RELEASE_H
#define CPA_SHADOW_EDGE_RELEASE_H

#include "shadow/journal/journal.h"
#include "shadow/edge/object.h"
#include "shadow/path/path.h"

/*
 * Publish the thread's path at a mutex, spin lock, once, or read-write lock held for writing; see
 * shadow/edge/acquire.h.
 */
static inline void cpa_lock_release(struct cpa_self *self, struct cpa_object *o)
{
	struct cpa_path *path = likely(o->path) ? cpa_object_place(o) :
						  cpa_object_path_new(self, o);

	if (likely(path))
		cpa_path_publish(self, path, &self->row->path);
	cpa_journal_release(self, o, 0, 0);
}

#endif
