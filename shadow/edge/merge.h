/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/merge.h - join of racing releases into one path that depends on all of them
 *
 * The slot holds a token row or 0. A releaser takes the row out, joins that path with its own and
 * puts the result back; if the slot has been filled again meanwhile, it takes that row out too.
 * When all releasers have returned, the slot holds the join of all. Join is associative and
 * commutative except for ties.
 *
 *              release  take     "X": the caller excludes the pair: takers run when the real
 *   release       -       X      operation has let all releasers pass (rwlock held for writing,
 *   take          X       X      barrier open).
 *
 * Progress: lock-free. Constant memory: one token per object and one per release in progress.
 */
#ifndef CPA_SHADOW_EDGE_MERGE_H
#define CPA_SHADOW_EDGE_MERGE_H

#include "shadow/path/token.h"

/*
 * Join @path into @slot. A token with another key than @key is left from an earlier round whose
 * readers are late: it is dropped and counted as refused.
 */
CPA_HIDDEN void cpa_merge_release(struct cpa_self *self, uint64_t *slot, uint64_t key,
				  const struct cpa_path *path);

/*
 * As cpa_merge_release(), where tokens with other keys were read in place by cpa_merge_read() and are
 * no longer wanted. Their memory is used again.
 */
CPA_HIDDEN void cpa_merge_release_read(struct cpa_self *self, uint64_t *slot, uint64_t key,
				       const struct cpa_path *path);

/*
 * As cpa_merge_release() with key 0, where the journal is to have all releases: also that which @path continues,
 * as it is the same thread's. Who reads the journal may then know better than that the thread did both.
 */
CPA_HIDDEN void cpa_merge_release_each(struct cpa_self *self, uint64_t *slot,
				       const struct cpa_path *path);

/*
 * The join of the releases of round @key, to be read until the next round begins; NULL: none. All
 * releasers have returned.
 */
CPA_HIDDEN const struct cpa_path *cpa_merge_read(const uint64_t *slot, uint64_t key);

/* Join the release @from into the release @into; the observed path is that of the later one. */
CPA_HIDDEN void cpa_merge(struct cpa_self *self, struct cpa_path *into,
			  const struct cpa_path *from);

/* As cpa_merge(), but the observed path is that of @from if @later. */
CPA_HIDDEN void cpa_merge_as(struct cpa_self *self, struct cpa_path *into,
			     const struct cpa_path *from, bool later);

/* Empty @slot and return its token, which the caller then owns; 0: none. */
CPA_HIDDEN uint32_t cpa_merge_take(uint64_t *slot);

#endif
