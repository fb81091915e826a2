/* SPDX-License-Identifier: MIT */
/*
 * shadow/graph/activity.h - a thread's time between two events goes to its path
 */
#ifndef CPA_SHADOW_GRAPH_ACTIVITY_H
#define CPA_SHADOW_GRAPH_ACTIVITY_H

#include "shadow/path/span.h"
#include "shadow/path/wait.h"
#include "shadow/graph/component.h"

/*
 * @ticks pass while the component of @slot is active; @total of them count in its sum. Part of
 * cpa_activity_end(), which adds to L.
 */
CPA_HIDDEN void cpa_activity_charge(struct cpa_self *self, uint32_t slot, uint64_t ticks,
				    uint64_t total);

/* The class of a lock with @slot was held for @ticks of external time. */
CPA_HIDDEN void cpa_activity_held_external(struct cpa_self *self, uint32_t slot, uint64_t ticks);

/* End the activity at the event of @node: advance the path, sums and summary. */
CPA_HIDDEN void cpa_activity_end(struct cpa_self *self, const struct cpa_span *span, uint32_t node);

/* As cpa_activity_run() of shadow/graph/run.h. */
CPA_HIDDEN void cpa_activity_run_slow(struct cpa_self *self, uint64_t process, uint32_t node);

/* Charge functions with @ticks of an activity without samples and calls, on the edge of @cache. */
CPA_HIDDEN void cpa_activity_attribute(struct cpa_self *self, uint64_t ticks,
				       struct cpa_edge_cache *cache);

/* Account for the dependency found by an acquire at the thread's last event. */
CPA_HIDDEN void cpa_dependency(struct cpa_self *self, const struct cpa_wait *wait, uint64_t waited);

/*
 * A lock of class row @class is held from now on, or no more. @slot: that of the class before any
 * component moved.
 */
CPA_HIDDEN void cpa_hold_slow(struct cpa_self *self, uint32_t class, uint32_t slot);
CPA_HIDDEN void cpa_unhold_slow(struct cpa_self *self, uint32_t class);

static inline void cpa_hold(struct cpa_self *self, uint32_t class, uint32_t slot)
{
	struct cpa_thread *row = self->row;

	/* Moves that were not met yet: the slots held are looked up anew before they are used. */
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

/* Whether a lock is held whose class has @slot now. */
CPA_HIDDEN bool cpa_holds(const struct cpa_self *self, uint32_t slot);

#endif
