/* SPDX-License-Identifier: MIT */
/*
 * shadow/graph/mixes.h - the functions of an edge's activities, by class of duration
 *
 * What runs between two events may depend on how long it takes. If the slowest thread of each round
 * runs other functions than the rest, and all rounds lie between the same two events, functions of
 * short activities must not be charged with a part of long ones: only the long ones are on the
 * critical path. So mixes (shadow/graph/mix.h) are learnt for each class of duration as well, from
 * an edge's first sample on, once for each thread that has samples on the edge, and once for all
 * threads. Without memory for that, an edge has the mix of all durations only.
 *
 * An activity without samples is divided by the first of these that has functions:
 *
 *   1. the thread's mix of the edge and of the activity's class;
 *   2. that of all threads, of which only the functions count that the thread had on the edge;
 *   3. the thread's mix of the nearest class, the shorter one of two;
 *   4. if the thread has had no samples on the edge: that of all threads, of the nearest class;
 *   5. the thread's mix of all durations, or else that of all threads.
 *
 * Where a sample may cut an activity short (struct cpa_span), those with samples tell nothing of the durations of others:
 * the activity is divided by 5, or if the thread has had no samples on the edge, by all threads' mix of all durations.
 *
 * In 1 and 3, credit that the thread does not have comes from all threads' mix of that class. If the
 * thread has had one function on the edge, the activity is that function's without a look at classes
 * (shadow/graph/run.h).
 */
#ifndef CPA_SHADOW_GRAPH_MIXES_H
#define CPA_SHADOW_GRAPH_MIXES_H

#include "shadow/graph/mix.h"
#include "shadow/path/span.h"
#include "shadow/store/self.h"

/* Return where the offset of the mixes of @cache, an entry of the thread, is kept. */
static inline uint64_t *cpa_mixes_place(struct cpa_self *self, const struct cpa_edge_cache *cache)
{
	/* self->edges is the first member of a struct cpa_edge_caches. */
	return &((struct cpa_edge_caches *)(void *)self->edges)->mixes[cache - self->edges];
}

/*
 * Learn from the samples of @span, over which @ticks were spread, on the edge of @cache (NULL: none).
 * @class: class of the activity, of which @ticks may be a part.
 */
CPA_HIDDEN void cpa_mixes_learn(struct cpa_self *self, const struct cpa_span *span, uint64_t ticks,
				unsigned class, struct cpa_edge_cache *cache);

/* Return whether any thread has had samples on the edge of @cache (NULL: none). */
CPA_HIDDEN bool cpa_mixes_known(struct cpa_self *self, const struct cpa_edge_cache *cache);

/*
 * Return the number of functions among which to divide an activity of @ticks without samples on the
 * edge of @cache, except those that @calls (may be NULL) measures. Set their words and weights;
 * *@sum: sum of the weights.
 */
CPA_HIDDEN unsigned cpa_mixes_of(struct cpa_self *self, const struct cpa_calls *calls,
				 struct cpa_edge_cache *cache, uint64_t ticks,
				 uint64_t word[CPA_MIX], uint32_t weight[CPA_MIX], uint32_t *sum);

#endif
