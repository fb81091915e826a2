/* SPDX-License-Identifier: MIT */
/*
 * shadow/path/version.h - immutable, counted vectors that paths share: see V1 and V2 of shadow/path/path.h
 *
 * There are two sorts: of S and H, and of O. A thread keeps a few that nobody names any more, as a
 * join drops one and wants one.
 */
#ifndef CPA_SHADOW_PATH_VERSION_H
#define CPA_SHADOW_PATH_VERSION_H

#include "shadow/store/self.h"

/* Bytes of a version of @slots, of S and H or of O. */
static inline size_t cpa_version_size(uint32_t slots, bool of_o)
{
	size_t values = of_o ? slots : 2 * (size_t)slots + slots / CPA_VERSION_BLOCK;

	return sizeof(struct cpa_version) + values * sizeof(uint64_t);
}

/* The version at offset @version, NULL for 0. */
static inline struct cpa_version *cpa_version_at(uint64_t version)
{
	return version ? cpa_at(version) : NULL;
}

/* New ones of @slots, a multiple of CPA_VERSION_BLOCK, of S and H and of O. False: no memory. */
CPA_HIDDEN bool cpa_versions_new(struct cpa_self *self, uint32_t slots, struct cpa_version *v[2]);

static inline void cpa_version_get(struct cpa_version *v)
{
	/* Relaxed: who takes a reference has one, or excludes the one who has (V2). */
	__atomic_fetch_add(&v->refs, 1, __ATOMIC_RELAXED);
}

/* Give a reference back. */
CPA_HIDDEN void cpa_version_put(struct cpa_self *self, struct cpa_version *v, bool of_o);

/* Let @to be @from, of the same size, and the caller's. */
CPA_HIDDEN void cpa_version_copy(struct cpa_version *to, const struct cpa_version *from, bool of_o);

/* The same, of which @to has no fewer slots; @from: NULL: none has any. */
CPA_HIDDEN void cpa_version_extend(struct cpa_version *to, const struct cpa_version *from,
				   bool of_o);

/* S of @v shall be another than that of any version before. */
static inline void cpa_version_new_slack(struct cpa_self *self, struct cpa_version *v)
{
	v->slack = (uint64_t)self->id << 32 | ++self->slacks;
}

/* The slack of @v is complete: note how much there is, at most. */
CPA_HIDDEN void cpa_version_note_slack(struct cpa_version *v);

/* Give the spare versions of a thread that ends back to the heap. */
CPA_HIDDEN void cpa_version_forget_spares(struct cpa_self *self);

#endif
