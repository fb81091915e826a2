/* SPDX-License-Identifier: MIT */
/*
 * shadow/path/delta.h - functions shared by shadow/path/path.c and shadow/path/join.c, and by no
 * other file
 */
#ifndef CPA_SHADOW_PATH_DELTA_H
#define CPA_SHADOW_PATH_DELTA_H

#include "shadow/path/path.h"

/*
 * Return the index in @path of the delta of @slot, or the index it would get. Does not use
 * self->delta_at.
 */
CPA_HIDDEN unsigned cpa_delta_search(const struct cpa_path *path, uint32_t slot);

/* Remove deltas that are all zero from @path, to make room. Return false if there were none. */
CPA_HIDDEN bool cpa_path_squeeze(struct cpa_self *self, struct cpa_path *path);

/* Return the number of slots that versions need in order to hold all of @path. */
CPA_HIDDEN uint32_t cpa_path_slots(const struct cpa_path *path);

/* Replace the versions of @path by @v, which hold its complete vectors, and drop its deltas. */
CPA_HIDDEN void cpa_path_set_versions(struct cpa_self *self, struct cpa_path *path,
				      struct cpa_version *v[2]);

/* Deltas were appended to the thread's path, which now has @n: bring self->delta_at up to date. */
static inline void cpa_delta_note_appended(struct cpa_self *self, const struct cpa_path *path,
					   unsigned n)
{
	for (unsigned i = self->deltas; i < n; i++)
		self->delta_at[path->delta[i].slot % CPA_MOST_SLOTS] = (uint8_t)i;
	self->deltas = n;
}

static inline bool cpa_delta_is_zero(const struct cpa_delta *d)
{
	return !(d->s | d->h | d->o);
}

/*
 * Return the index in @path of the delta of @slot, or the index it would get; CPA_PATH_DELTAS if it
 * has none and all deltas are in use.
 */
static inline unsigned cpa_delta_place(const struct cpa_self *self, const struct cpa_path *path,
				       uint32_t slot)
{
	unsigned i = self->delta_at[slot % CPA_MOST_SLOTS];

	if (likely(path->delta[i].slot == slot))
		return i;
	return likely(cpa_path_is_own(self, path)) ? self->deltas : cpa_delta_search(path, slot);
}

#endif
