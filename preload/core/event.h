/* SPDX-License-Identifier: MIT */
/* preload/core/event.h - cpa_event() and cpa_done() in line, for the fast lanes of wrappers */
#ifndef CPA_PRELOAD_CORE_EVENT_H
#define CPA_PRELOAD_CORE_EVENT_H

#include "preload/core/track.h"
#include "preload/core/untimed.h"
#include "shadow/graph/run.h"

/* cpa_event() and cpa_done() without a fast lane. @now: the clock, just read. */
CPA_HIDDEN uint64_t cpa_event_slow(struct cpa_worker *w, enum cpa_event_kind kind, uint64_t caller,
				   uint32_t class, uint64_t now);
CPA_HIDDEN void cpa_done_slow(struct cpa_worker *w);

/*
 * Whether the event ends an activity of CPU time alone, without samples. @stamp: the clock, just
 * read, as its time; @ticks: since the last event.
 */
static inline bool cpa_event_is_usual(const struct cpa_worker *w, uint64_t stamp, uint64_t ticks)
{
	/* False also if @stamp is before `since`: the difference is then very large. */
	if (unlikely(stamp - w->self.since >= w->self.window || ticks > cpa_clock_long_ticks))
		return false;
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* the counter is read before the detector */
	return !cpa_clock_switched(&w->clock) && !cpa_sampler_waiting(&w->sampler);
}

/* End an activity of @ticks CPU time at clock @stamp. */
static inline __attribute__((always_inline)) void cpa_event_run(struct cpa_worker *w,
								enum cpa_event_kind kind,
								uint64_t caller, uint32_t class,
								uint64_t stamp, uint64_t ticks)
{
	struct cpa_node_place *place;

	w->clock.last = stamp;
	w->clock.cpu += ticks;
	cpa_stand_between(w);
	place = cpa_track_place(w, kind, caller, class);
	cpa_activity_run(&w->self, ticks, place->row, &place->edge);
	w->self.row->path.released = stamp;
	w->self.row->path.owner = w->self.id;
}

/* cpa_event() in line. */
static inline __attribute__((always_inline)) uint64_t
cpa_event_usual(struct cpa_worker *w, enum cpa_event_kind kind, uint64_t caller, uint32_t class)
{
	uint64_t now = cpa_clock_now(), stamp = cpa_clock_stamp_of(&w->clock, now);
	uint64_t ticks = stamp - w->clock.last;

	if (unlikely(w->untimed.count || !cpa_event_is_usual(w, stamp, ticks)))
		return cpa_event_slow(w, kind, caller, class, now);
	cpa_event_run(w, kind, caller, class, stamp, ticks);
	return stamp;
}

/* cpa_done() in line. */
static inline void cpa_done_usual(struct cpa_worker *w)
{
	struct cpa_thread *row = w->self.row;
	uint64_t ticks;

	if (unlikely(w->self.slow != w->slow || !--w->clock.skips)) {
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
