/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/merge.h - releases that race, combined into the one path that depends on all of them
 *
 * The slot holds a token row or 0. A releaser takes out what is there, joins it with its own path
 * and puts the result back; who finds the slot filled again takes that out too. When all releasers
 * have returned, the slot holds the join of all. Join is associative and commutative but for ties.
 *
 *              release  take     "X": the caller excludes the pair: takers run when the real
 *   release       -       X      operation has let all releasers pass (rwlock held for writing,
 *   take          X       X      barrier open).
 *
 * Progress: lock-free. Constant memory: one token an object, one more for each release under way.
 */
#ifndef CPA_SHADOW_EDGE_MERGE_H
#define CPA_SHADOW_EDGE_MERGE_H

#include "shadow/path/token.h"

/*
 * Add @path to @slot. What is there under another @key is the remains of an earlier round whose
 * readers are late: it is dropped, and counted as refused.
 */
CPA_HIDDEN void cpa_merge_release(struct cpa_self *self, uint64_t *slot, uint64_t key,
				  const struct cpa_path *path);

/* Join two releases: @from into @into; the observed path is that of the later one. */
CPA_HIDDEN void cpa_merge(struct cpa_self *self, struct cpa_path *into,
			  const struct cpa_path *from);

/* The token in @slot, now the caller's, or 0. */
CPA_HIDDEN uint32_t cpa_merge_take(uint64_t *slot);

#endif
