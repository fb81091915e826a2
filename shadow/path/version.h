/* SPDX-License-Identifier: MIT */
/*
 * shadow/path/version.h - immutable, reference-counted vectors shared by paths: V1 and V2 of
 * shadow/path/path.h
 *
 * There are two sorts of versions: S with H, and O. Each thread keeps a few unreferenced ones for
 * reuse, because a join drops one and needs one.
 */
#ifndef CPA_SHADOW_PATH_VERSION_H
#define CPA_SHADOW_PATH_VERSION_H

#include "shadow/store/self.h"

/* Return the size in bytes of a version with @slots slots: of O, or of S and H. */
static inline size_t cpa_version_size(uint32_t slots, bool of_o)
{
	size_t values = of_o ? slots : 2 * (size_t)slots + slots / CPA_VERSION_BLOCK;

	return sizeof(struct cpa_version) + values * sizeof(uint64_t);
}

/* Return the version at offset @version; NULL for 0. */
static inline struct cpa_version *cpa_version_at(uint64_t version)
{
	return version ? cpa_at(version) : NULL;
}

/*
 * Allocate a version of S and H (v[0]) and one of O (v[1]); @slots is a multiple of
 * CPA_VERSION_BLOCK. Return false if there is no memory.
 */
CPA_HIDDEN bool cpa_versions_new(struct cpa_self *self, uint32_t slots, struct cpa_version *v[2]);

static inline void cpa_version_get(struct cpa_version *v)
{
	/* Relaxed: the thread already holds a reference, or excludes the holder of one (V2). */
	__atomic_fetch_add(&v->refs, 1, __ATOMIC_RELAXED);
}

/* Drop a reference; the last one frees the version. */
CPA_HIDDEN void cpa_version_put(struct cpa_self *self, struct cpa_version *v, bool of_o);

/* Copy the values of @from to @to, a version of the same size that only the caller uses. */
CPA_HIDDEN void cpa_version_copy(struct cpa_version *to, const struct cpa_version *from, bool of_o);

/*
 * As cpa_version_copy(), but @to may have more slots than @from, and @from may be NULL; the other
 * slots of @to become 0.
 */
CPA_HIDDEN void cpa_version_extend(struct cpa_version *to, const struct cpa_version *from,
				   bool of_o);

/* Give @v a `slack` number that no version had before, because its S will change. */
static inline void cpa_version_new_slack(struct cpa_self *self, struct cpa_version *v)
{
	v->slack = (uint64_t)self->id << 32 | ++self->slacks;
}

/* S of @v is complete: set max_slack and the maximum of each block. */
CPA_HIDDEN void cpa_version_note_slack(struct cpa_version *v);

/* Free the spare versions of an ending thread to the heap. */
CPA_HIDDEN void cpa_version_forget_spares(struct cpa_self *self);

#endif
