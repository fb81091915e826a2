/* SPDX-License-Identifier: MIT */
#include "preload/core/computes.h"
#include "preload/core/event.h"
#include "preload/core/function.h"
#include "preload/core/instrument.h"
#include "preload/core/window.h"
#include "preload/core/suspend.h"
#include "shadow/graph/call.h"
#include "shadow/graph/checkpoint.h"
#include "shadow/journal/journal.h"
#include "shadow/graph/search.h"
#include "shadow/graph/summary.h"

#define CHILD_LATE 20000000u /* ns from the end of a child to the return of a wait for it */

static uint32_t external_slot[CPA_EXTERNALS];

void cpa_track_init(void)
{
	for (uint32_t i = 0; i < CPA_EXTERNALS; i++) {
		struct cpa_component_name name = { .kind = CPA_EXTERNAL,
						   .by = CPA_BY_EXTERNAL,
						   .address = i };

		external_slot[i] = cpa_component_slot(cpa_component_intern(&name));
	}
}

struct cpa_node_place *cpa_track_place_slow(struct cpa_worker *w, unsigned at, uint64_t caller,
					    uint32_t event)
{
	struct cpa_node_place *set = &w->nodes.places[at - at % CPA_NODE_WAYS], *place = NULL;
	uint32_t row;

	for (unsigned i = 0; i < CPA_NODE_WAYS; i++) {
		if (set[i].caller == caller && set[i].event == event)
			return &set[i];
		if (!set[i].event)
			place = &set[i];
	}
	if (!place)
		place = &set[w->nodes.turn++ % CPA_NODE_WAYS];
	w->self.slow++;
	row = cpa_summary_node(event >> 24, cpa_site(caller), event & 0xffffff);
	/* Put it at its first place, where the next lookup finds it at once. */
	*place = w->nodes.places[at];
	place = &w->nodes.places[at];
	place->caller = caller;
	place->event = row ? event : 0; /* no space: the loss is counted at each event */
	place->row = row;
	return place;
}

/* End an activity with times @e that is more than CPU time without samples. */
static __attribute__((noinline)) void end_eventful(struct cpa_worker *w,
						   const struct cpa_elapsed *e,
						   enum cpa_external external, uint32_t node,
						   uint64_t now)
{
	struct cpa_span span;

	span.process = e->process;
	span.external = e->external;
	span.runqueue = e->runqueue;
	span.probe = 0;
	span.external_slot = external_slot[external];
	span.earlier_slot = external_slot[CPA_EXT_OTHER];
	span.sampled = 0;
	span.sampled_ticks = 0;
	span.open = cpa_untimed_open(w);
	span.calls = w->calls;
	span.earlier = 0;
	if (unlikely(w->calls))
		cpa_instrument_end(w->calls, &span);
	if (unlikely(cpa_sampler_waiting(&w->sampler))) {
		cpa_sampler_take(&w->sampler, &span);
		w->clock.tick++;
	} else if (unlikely(e->process > cpa_sampler_latest())) {
		/*
		 * No sample arrived, perhaps because the signal is blocked: the function of the
		 * last sample no longer holds.
		 */
		w->self.row->last_function = 0;
	}
	cpa_activity_end(&w->self, &span, node);
	if (cpa_untimed_pending(w))
		cpa_untimed_end(w, &span);
	/* the thread may have been switched out */
	if (unlikely(w->clock.rebased == w->clock.last)) {
		cpa_sampler_switched(&w->sampler, w->clock.cpu);
		cpa_computes_note(w);
		w->self.slow++; /* the end of an operation is not a usual one: it was slow */
		if (unlikely(w->clock.ahead))
			cpa_force_slow(w);
	}
	cpa_journal_event(&w->self, now);
}

static void end_activity(struct cpa_worker *w, const struct cpa_elapsed *e,
			 enum cpa_external external, uint32_t node, uint64_t now)
{
	cpa_stand_between(w);
	end_eventful(w, e, external, node, now);
	if (unlikely(cpa_search_is_due(w->clock.last))) {
		w->self.slow++;
		cpa_search_tick(&w->self, w->clock.last, cpa_clock_rebase_ticks);
	}
	w->self.row->path.released = now;
	w->self.row->path.owner = w->self.id;
}

/* Let the next event use the fast lane (preload/core/event.h), up to the next boundary. */
static void open_window(struct cpa_worker *w)
{
	uint64_t due = w->clock.rebased + cpa_clock_rebase_ticks;
	uint64_t window = due > w->self.since ? due - w->self.since : 0;

	if (unlikely(w->clock.ahead))
		cpa_force_slow(w);
	else if (!w->watched)
		w->self.window = window < w->self.period ? window : w->self.period;
}

uint64_t cpa_event_slow(struct cpa_worker *w, enum cpa_event_kind kind, uint64_t caller,
			uint32_t class, uint64_t now)
{
	uint64_t stamp = cpa_clock_stamp_of(&w->clock, now), ticks = stamp - w->clock.last;
	struct cpa_elapsed e;

	/* The activity had only untimed sections, and all have ended. */
	if (!cpa_untimed_open(w) && cpa_event_is_usual(w, stamp, ticks)) {
		cpa_event_run(w, kind, caller, class, stamp, ticks);
		cpa_untimed_charge(w, ticks);
		return stamp;
	}
	if (unlikely(w->suspended)) {
		cpa_suspend_ended(w);
		now = cpa_clock_now();
	}
	now = cpa_checkpoint(&w->self, cpa_clock_stamp_at(&w->clock, &e, now));
	end_activity(w, &e, CPA_EXT_OTHER, cpa_track_node(w, kind, caller, class), now);
	open_window(w);
	return now;
}

uint64_t cpa_event(struct cpa_worker *w, enum cpa_event_kind kind, uint64_t caller, uint32_t class)
{
	return cpa_event_usual(w, kind, caller, class);
}

uint64_t cpa_event_external(struct cpa_worker *w, enum cpa_external external, uint64_t caller)
{
	struct cpa_elapsed e;
	uint64_t now = cpa_checkpoint(&w->self, cpa_clock_stamp(&w->clock, &e));

	end_activity(w, &e, external, cpa_track_node(w, CPA_EV_EXTERNAL, caller, 0), now);
	return now;
}

bool cpa_event_awaited(struct cpa_worker *w, enum cpa_external external, enum cpa_event_kind kind,
		       uint64_t caller, uint64_t ended, struct cpa_wait *wait)
{
	struct cpa_elapsed e;
	uint64_t now = cpa_clock_stamp(&w->clock, &e), length = e.external + e.runqueue;
	uint64_t woken = now - e.runqueue;
	bool waited = e.external && ended > now - length && ended <= now &&
		      (ended > woken || woken - ended <= cpa_clock_ticks(CHILD_LATE));

	wait->now = wait->arrived = now;
	if (waited) {
		w->wait.length = length;
		w->wait.runqueue = wait->runqueue = e.runqueue;
		wait->arrived -= length;
		w->self.row->wait += length;
		e.external = e.runqueue = 0;
	}
	wait->arrived = cpa_checkpoint(&w->self, wait->arrived);
	end_activity(w, &e, external, cpa_track_node(w, waited ? kind : CPA_EV_EXTERNAL, caller, 0),
		     wait->arrived);
	wait->now = cpa_checkpoint(&w->self, wait->now);
	return waited;
}

void cpa_event_cut(struct cpa_worker *w, enum cpa_event_kind kind, const struct cpa_elapsed *e,
		   uint64_t now)
{
	end_activity(w, e, CPA_EXT_OTHER, cpa_track_node(w, kind, 0, 0), now);
	w->between = 0;
}

/* Samples since the last event fell in a wait: drop them. */
static void drop_samples(struct cpa_worker *w)
{
	if (likely(!cpa_sampler_waiting(&w->sampler)))
		return;
	cpa_sampler_drop(&w->sampler);
	w->clock.tick++;
}

uint64_t cpa_waited(struct cpa_worker *w, uint64_t *arrived)
{
	struct cpa_thread *row = w->self.row;
	struct cpa_elapsed e;
	uint64_t now;

	cpa_reenter();
	if (unlikely(!*cpa_alive)) { /* the profile has ended, or belongs to another process */
		cpa_alive_look();
		w->wait.length = w->wait.runqueue = 0;
		return w->clock.last;
	}
	now = cpa_clock_stamp_waited(&w->clock, &e);
	if (unlikely(w->clock.ahead))
		cpa_force_slow(w);
	if (w->clock.rebased == now) {
		cpa_computes_note(w);
		if (cpa_sampler_switched(&w->sampler, w->clock.cpu))
			w->self.slow++;
	}
	drop_samples(w);
	if (unlikely(cpa_window_moved(w)))
		return cpa_window_crossed(w, &e, arrived, now);
	now = cpa_checkpoint(&w->self, now);
	w->wait.length = e.process + e.runqueue + e.external;
	row->wait += w->wait.length;
	row->wait_cpu += e.process;
	w->wait.runqueue = e.runqueue;
	return now;
}

void cpa_unexplained(struct cpa_worker *w, enum cpa_external kind, uint64_t ticks)
{
	uint64_t length = w->wait.length < ticks ? w->wait.length : ticks;
	uint64_t ready = w->wait.runqueue < length ? w->wait.runqueue : length;
	struct cpa_span span = { .external = length - ready,
				 .runqueue = ready,
				 .external_slot = external_slot[kind],
				 .calls = w->calls };

	/*
	 * The wait was cut at the border of a part: its cause is unknown, and its share of all
	 * threads' time as well.
	 */
	if (unlikely(!w->wait.length))
		w->self.row->path.observed[CPA_TIME_EXTERNAL] += ticks;
	if (unlikely(w->calls))
		w->calls->time.external += span.external;
	if (unlikely(!*cpa_alive)) /* the end of the run ended the wait */
		return;
	w->self.row->wait -= length < w->self.row->wait ? length : w->self.row->wait;
	cpa_activity_end(&w->self, &span, w->self.row->node);
	cpa_journal_event(&w->self, w->self.row->path.released);
}

void cpa_probe_count(struct cpa_thread *row, const struct cpa_elapsed *e)
{
	row->probe += e->process;
	row->runqueue += e->runqueue;
	row->path.observed[CPA_TIME_PROBE] += e->process + e->external;
	row->path.observed[CPA_TIME_RUNQUEUE] += e->runqueue;
}

void cpa_track_probe(struct cpa_worker *w)
{
	struct cpa_elapsed e;

	cpa_clock_stamp(&w->clock, &e);
	cpa_probe_count(w->self.row, &e);
}

void cpa_unmatched(struct cpa_worker *w, bool waited)
{
	/*
	 * Not if the wait was cut at the border of a part, which sets its length to 0: the release
	 * may have been made while profiling was off.
	 */
	if (!waited || w->wait.length)
		cpa_diag(CPA_DIAG_UNMATCHED_WAKES);
}

/* cpa_done() by reading the clock. */
void cpa_done_slow(struct cpa_worker *w)
{
	struct cpa_elapsed e;

	if (w->self.slow != w->slow) { /* an unusual operation: do not learn its length */
		w->slow = w->self.slow;
		cpa_clock_stamp(&w->clock, &e);
	} else {
		cpa_clock_measure(&w->clock, &e);
	}
	if (unlikely(w->clock.ahead))
		cpa_force_slow(w);
	drop_samples(w);
	cpa_probe_count(w->self.row, &e);
	w->between = 0;
	cpa_leave();
}

void cpa_done(struct cpa_worker *w)
{
	cpa_done_usual(w);
}
