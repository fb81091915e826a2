/* SPDX-License-Identifier: MIT */
/* shadow/graph/activity.h - adds a thread's time between two events to its path */
#ifndef CPA_SHADOW_GRAPH_ACTIVITY_H
#define CPA_SHADOW_GRAPH_ACTIVITY_H

#include "shadow/path/span.h"
#include "shadow/path/wait.h"
#include "shadow/graph/component.h"

/*
 * Add @ticks to the path for the component of @slot, and @total of them to the thread's total of
 * the slot. Part of cpa_activity_end(), which adds to L.
 */
CPA_HIDDEN void cpa_activity_charge(struct cpa_self *self, uint32_t slot, uint64_t ticks,
				    uint64_t total);

/*
 * Add @ticks, which weigh nothing in the inherent path, to the observed path for the component of
 * @slot, and to the thread's total of the slot. Part of cpa_activity_end().
 */
CPA_HIDDEN void cpa_activity_see(struct cpa_self *self, uint32_t slot, uint64_t ticks);

/* Record that a lock of the class with @slot was held during @ticks of external time. */
CPA_HIDDEN void cpa_activity_held_external(struct cpa_self *self, uint32_t slot, uint64_t ticks);

/* End the activity that leads to the event of @node: advance the path, the sums and the summary. */
CPA_HIDDEN void cpa_activity_end(struct cpa_self *self, const struct cpa_span *span, uint32_t node);

/* As cpa_activity_run() of shadow/graph/run.h, but for the cases that it does not handle. */
CPA_HIDDEN void cpa_activity_run_slow(struct cpa_self *self, uint64_t process, uint32_t node);

/*
 * Charge functions with @ticks of an activity that has neither samples nor calls, by the mix of the
 * edge of @cache.
 */
CPA_HIDDEN void cpa_activity_attribute(struct cpa_self *self, uint64_t ticks,
				       struct cpa_edge_cache *cache);

/* Record the dependency that an acquire at the thread's last event found; @waited: ticks. */
CPA_HIDDEN void cpa_dependency(struct cpa_self *self, const struct cpa_wait *wait, uint64_t waited);

/*
 * cpa_hold_slow(), cpa_unhold_slow(): the thread now holds, or no longer holds, a lock of class row
 * @class. @slot: the class's slot before any component moved.
 */
CPA_HIDDEN void cpa_hold_slow(struct cpa_self *self, uint32_t class, uint32_t slot);
CPA_HIDDEN void cpa_unhold_slow(struct cpa_self *self, uint32_t class);

static inline void cpa_hold(struct cpa_self *self, uint32_t class, uint32_t slot)
{
	struct cpa_thread *row = self->row;

	/*
	 * self->moves: components may have other slots by now; the held slots are looked up again
	 * before use.
	 */
	if (unlikely(row->held_count || !slot || self->moves)) {
		cpa_hold_slow(self, class, slot);
		return;
	}
	self->held_class[0] = class;
	row->held_slot[0] = slot;
	row->held_times[0] = 1;
	row->held_count = 1;
}

static inline void cpa_unhold(struct cpa_self *self, uint32_t class)
{
	struct cpa_thread *row = self->row;

	if (likely(row->held_count == 1 && self->held_class[0] == class && row->held_times[0] == 1))
		row->held_count = 0;
	else
		cpa_unhold_slow(self, class);
}

/* Return whether the thread holds a lock whose class now has @slot. */
CPA_HIDDEN bool cpa_holds(const struct cpa_self *self, uint32_t slot);

#endif
