/* SPDX-License-Identifier: MIT */
/*
 * preload/event.h - cpa_event() and cpa_done() in line, for wrappers that do little else
 */
#ifndef CPA_PRELOAD_EVENT_H
#define CPA_PRELOAD_EVENT_H

#include "preload/track.h"
#include "preload/untimed.h"
#include "shadow/run.h"

/* Any event, at clock @now, and any end of one. */
CPA_HIDDEN uint64_t cpa_event_slow(struct cpa_worker *w, enum cpa_event_kind kind, uint64_t caller,
				   uint32_t class, uint64_t now);
CPA_HIDDEN void cpa_done_slow(struct cpa_worker *w);

/* Whether the activity is more than CPU time without samples. */
static inline bool cpa_event_is_eventful(const struct cpa_worker *w)
{
	return w->watched || cpa_untimed_pending(w) || cpa_sampler_waiting(&w->sampler);
}

/* As cpa_event(). */
static inline __attribute__((always_inline)) uint64_t
cpa_event_usual(struct cpa_worker *w, enum cpa_event_kind kind, uint64_t caller, uint32_t class)
{
	uint64_t now = cpa_clock_now(), stamp = now > w->clock.last ? now : w->clock.last, ticks;

	if (unlikely(!cpa_clock_usual(&w->clock, now) || stamp - w->self.since >= w->self.period ||
		     cpa_event_is_eventful(w)))
		return cpa_event_slow(w, kind, caller, class, now);
	ticks = cpa_clock_advance(&w->clock, now);
	cpa_stand_between(w);
	cpa_activity_run(&w->self, ticks, cpa_track_node(w, kind, caller, class));
	w->self.row->path.released = stamp;
	w->self.row->path.owner = w->self.id;
	return stamp;
}

/* As cpa_done(). */
static inline void cpa_done_usual(struct cpa_worker *w)
{
	struct cpa_thread *row = w->self.row;
	uint64_t ticks;

	if (unlikely(w->self.slow != w->slow || !w->clock.probe || !--w->clock.skips)) {
		cpa_done_slow(w);
		return;
	}
	ticks = cpa_clock_skip(&w->clock);
	row->probe += ticks;
	row->path.observed[CPA_TIME_PROBE] += ticks;
	w->between = 0;
	cpa_leave();
}

#endif
