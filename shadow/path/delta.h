/* SPDX-License-Identifier: MIT */
/*
 * shadow/path/delta.h - what shadow/path/path.c and shadow/path/join.c share; for these only
 */
#ifndef CPA_SHADOW_PATH_DELTA_H
#define CPA_SHADOW_PATH_DELTA_H

#include "shadow/path/path.h"

/* Where in @path the delta of @slot is, or would be: found without self->delta_at. */
CPA_HIDDEN unsigned cpa_delta_search(const struct cpa_path *path, uint32_t slot);

/* Make room: let @path have no deltas that say nothing. False: it had none. */
CPA_HIDDEN bool cpa_path_squeeze(struct cpa_self *self, struct cpa_path *path);

/* The slots that versions with all of @path must have. */
CPA_HIDDEN uint32_t cpa_path_slots(const struct cpa_path *path);

/* Let @path name @v, which are complete, without deltas. */
CPA_HIDDEN void cpa_path_set_versions(struct cpa_self *self, struct cpa_path *path,
				      struct cpa_version *v[2]);

/* The path of the thread has got more deltas, at the end: @n are all. */
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

/* Where in @path the delta of @slot is, or would be; CPA_PATH_DELTAS: nowhere, all are taken. */
static inline unsigned cpa_delta_place(const struct cpa_self *self, const struct cpa_path *path,
				       uint32_t slot)
{
	unsigned i = self->delta_at[slot % CPA_MOST_SLOTS];

	if (likely(path->delta[i].slot == slot))
		return i;
	return likely(cpa_path_is_own(self, path)) ? self->deltas : cpa_delta_search(path, slot);
}

#endif
