/* SPDX-License-Identifier: MIT */
/*
 * shadow/graph/search.h - the search for the top components (Online CP, 2.2 and Appendix B)
 *
 * Components that found no slot of their own share buckets. A step, at the end of an interval of
 * the run, looks at how much of the path's growth fell in each bucket. The members of a heavy one
 * are divided among slots of a reserve, parts; a part that is heavy in the next interval is divided
 * again; one that is light goes home to its bucket, and its slot is used again. A part of one
 * component names it: it keeps the slot. Any number of buckets are under way at once.
 *
 * With m of cpa_component_top(), D the growth of the longest path in an interval, heavy is a bucket
 * with 3D/4m or more of it, and a part with D/2m or more. A bucket that was divided in vain rests
 * for 2, 4, then 8 steps, unless it has got heavier by D/2m. Guarantee: a component that has D/m or
 * more in each interval is named after at most 1 + log2 n of them, with n the members of its
 * bucket, not counting those in which its bucket rests (8 at most) or a set finds no slot. Of the
 * latter there are O(m log n) at most, if 4m slots can be had at the begin.
 *
 * Proof. What holds it has D/m or more, so it is heavy and is divided when its turn comes. After
 * that the part that holds it has at most half of the members, rounded up; so its turn comes 1 +
 * log2 n times (once without division, when it leaves a bucket for a single slot). Members of one
 * kind that do not nest have at most D together: no more than 2m sets are heavy, and 2m named. So
 * one slot at least is free, or in a part that has turned light and is free in the next interval:
 * one of the 2m sets at least has its turn in every other interval: they have 2m (1 + log2 n) turns
 * in all. Parts come before buckets, so what has begun is not held up. QED. Components that nest
 * (regions, locks, in a depth d) make up to 2md sets, and need as many slots. Where there are fewer
 * than that the lightest part goes home and begins again.
 *
 * Slots: a part that has no members, and one component's that had less than D/4m in the interval
 * (it goes home then), are used again if no path can have more than L/4m of what they had: that
 * error is known, and kept (struct cpa_base). Their time in all threads, external time of holders
 * included, bounds it, as an activity is on a path at most once. So a slot that cannot be used
 * again has L/4m of the threads' time. For want of slots, buckets wait (CPA_DIAG_SEARCH_WAITS).
 *
 * The path is sampled on the thread that is at its head (Online CP, Fig. 3: the longest of all that
 * the processes report): one whose path is as long as any that was seen. While none is, the longest
 * path does not grow, and there is nothing to search.
 */
#ifndef CPA_SHADOW_GRAPH_SEARCH_H
#define CPA_SHADOW_GRAPH_SEARCH_H

#include "shadow/graph/component.h"
#include "shadow/store/self.h"

#define CPA_SEARCH_PARTS 8u /* slots that a set gets in one step, at most */
#define CPA_SEARCH_REST	 3u /* a bucket rests for 1 << this steps at most */

/* The longest path now; ticks. Vectors of header.slots values. */
struct cpa_search_view {
	uint64_t now; /* clock */
	uint64_t len;
	const uint64_t *slack, *share, *observed;
};

/* An interval ends. Not two at once. */
CPA_HIDDEN void cpa_search_step(const struct cpa_search_view *view);

/* Forget all; for tests. */
CPA_HIDDEN void cpa_search_reset(void);

/* The process is not the first of the session, which alone searches. */
CPA_HIDDEN void cpa_search_leave(void);

/* Whether it is time for a step, at clock @now. */
static inline bool cpa_search_is_due(uint64_t now)
{
	/* Relaxed: a hint. */
	return now >= __atomic_load_n(&cpa_header()->search_due, __ATOMIC_RELAXED);
}

/*
 * The thread is at an event, at clock @now, and a step is due: take it if this is the thread to do
 * so. @unit: 4 ms, in ticks.
 */
CPA_HIDDEN void cpa_search_tick(const struct cpa_self *self, uint64_t now, uint64_t unit);

#endif
