/* SPDX-License-Identifier: MIT */
/*
 * shadow/graph/search.h - the search for the top components (Online CP, 2.2 and Appendix B)
 *
 * Components without a slot of their own share buckets. At the end of each interval of the run a
 * step measures how much of the path's growth fell into each bucket. The members of a heavy bucket
 * are divided among slots of a reserve, called parts. A part that is heavy in the next interval is
 * divided again; the members of a light part return to their bucket and its slot is reused. A part
 * with a single member names it: the component keeps the slot. Several buckets may be divided at
 * once.
 *
 * With m = cpa_component_top() and D the growth of the longest path in an interval, a bucket is
 * heavy with 3D/4m or more, a part with D/2m or more. A bucket divided without result rests for 2,
 * 4, then 8 steps, unless its weight has grown by D/2m. Guarantee: a component with D/m or more in
 * each interval is named after at most 1 + log2 n intervals, where n is the number of members of
 * its bucket, not counting intervals in which its bucket rests (8 at most) or a set finds no slot.
 * There are O(m log n) of the latter at most, if 4m slots are available at the beginning.
 *
 * Proof. The set that holds the component has D/m or more, so it is heavy and is divided when its
 * turn comes. The part that then holds it has at most half of the members, rounded up; so it has a
 * turn 1 + log2 n times (once without division, when it leaves a bucket for a single slot). Members
 * of one kind that do not nest have at most D together: at most 2m sets are heavy, and 2m named. So
 * at least one slot is free, or in a part that has turned light and is free in the next interval:
 * at least one of the 2m sets has its turn in every other interval; they have 2m (1 + log2 n) turns
 * in all. Parts come before buckets, so a division once begun is not delayed. QED. Components that
 * nest (regions, locks, to a depth d) make up to 2md sets and need as many slots. With fewer slots
 * the lightest part returns to its bucket and starts again.
 *
 * Slots: a part without members, and the slot of one component that had less than D/4m in the
 * interval (the component then returns to its bucket), is reused if no path can have more than L/4m
 * of the slot's old contents. That error is known and recorded (struct cpa_base). The bound is the
 * time of the old contents in all threads, including the external time of lock holders, because an
 * activity is at most once on a path. A slot that cannot be reused therefore has L/4m of the
 * threads' time. If slots are missing, buckets wait (CPA_DIAG_SEARCH_WAITS).
 *
 * The path is sampled on the thread at its head (Online CP, Fig. 3: the longest of those that the
 * processes report): a thread whose path is as long as any seen so far. While no thread has such a
 * path, the longest path does not grow and there is nothing to search.
 */
#ifndef CPA_SHADOW_GRAPH_SEARCH_H
#define CPA_SHADOW_GRAPH_SEARCH_H

#include "shadow/graph/component.h"
#include "shadow/store/self.h"

#define CPA_SEARCH_PARTS 8u /* slots that a set gets in one step, at most */
#define CPA_SEARCH_REST	 3u /* a bucket rests for at most 1 << this steps */

/* The longest path at present, in ticks. The vectors have header.slots values. */
struct cpa_search_view {
	uint64_t now; /* clock */
	uint64_t len;
	const uint64_t *slack, *share, *observed;
};

/* End an interval. Calls must not overlap. */
CPA_HIDDEN void cpa_search_step(const struct cpa_search_view *view);

/* Forget all state; for tests. */
CPA_HIDDEN void cpa_search_reset(void);

/* Stop searching in this process: only the first process of a session searches. */
CPA_HIDDEN void cpa_search_leave(void);

/* Return whether a step is due at clock @now. */
static inline bool cpa_search_is_due(uint64_t now)
{
	/* Relaxed: a hint. */
	return now >= __atomic_load_n(&cpa_header()->search_due, __ATOMIC_RELAXED);
}

/*
 * Called by a thread at an event at clock @now when a step is due: take the step if the thread is
 * at the head of the path. @unit: 4 ms in ticks.
 */
CPA_HIDDEN void cpa_search_tick(const struct cpa_self *self, uint64_t now, uint64_t unit);

#endif
