/* SPDX-License-Identifier: MIT */
#include "preload/core/asleep.h"
#include "preload/core/computes.h"
#include "preload/core/event.h"
#include "preload/code/function.h"
#include "preload/core/identity.h"
#include "preload/core/instrument.h"
#include "preload/core/op.h"
#include "preload/core/window.h"
#include "preload/core/suspend.h"
#include "preload/libc/private_fds.h"
#include "shadow/graph/call.h"
#include "shadow/graph/checkpoint.h"
#include "shadow/graph/role.h"
#include "shadow/journal/journal.h"
#include "shadow/graph/search.h"
#include "shadow/graph/summary.h"

#define CHILD_LATE 20000000u /* ns from the end of a child to the return of a wait for it */

/* By kind; atomic, 0: not used yet in this process. */
static uint32_t external_slot[CPA_EXTERNALS];

/* Each kind gets its slot at its first use: vectors are as long as there are slots in use. */
static uint32_t slot_of(enum cpa_external kind)
{
	/* Relaxed: threads that find 0 at once store the same slot. */
	uint32_t slot = __atomic_load_n(&external_slot[kind], __ATOMIC_RELAXED);
	struct cpa_component_name name = { .kind = CPA_EXTERNAL,
					   .by = CPA_BY_EXTERNAL,
					   .address = kind };

	if (likely(slot))
		return slot;
	slot = cpa_component_slot(cpa_component_intern(&name));
	__atomic_store_n(&external_slot[kind], slot, __ATOMIC_RELAXED);
	return slot;
}

/* The thread was blocked during the last @ticks of @span, for a reason of @kind. */
static void put_external(struct cpa_span *span, enum cpa_external kind, uint64_t ticks)
{
	if (likely(!ticks))
		return;
	if (cpa_external_class(kind) == CPA_EXT_SERVICE) {
		span->external = ticks;
		span->external_slot = slot_of(kind);
	} else {
		span->idle = ticks;
		span->idle_slot = slot_of(kind);
	}
}

/*
 * What a block of no known kind in the activity that ends now was: with device input, or a wait that
 * nobody knows the end of. The C library has locks of its own, and who wakes, unlocks or creates
 * takes them.
 */
static enum cpa_external unknown_kind(const struct cpa_worker *w, const struct cpa_elapsed *e)
{
	const struct cpa_node *from =
		w->self.row->node ? cpa_row(CPA_TABLE_NODES, w->self.row->node) : NULL;

	if (e->device)
		return CPA_EXT_OTHER;
	switch (from ? from->kind : 0) {
	case CPA_EV_SIGNAL:
	case CPA_EV_BROADCAST:
	case CPA_EV_POST:
	case CPA_EV_FUTEX_WAKE:
		return CPA_EXT_WAKING;
	case CPA_EV_UNLOCK:
		return CPA_EXT_UNLOCKING;
	case CPA_EV_CREATE:
	case CPA_EV_FORK: /* posix_spawn() and vfork() return when the child has called exec() */
		return CPA_EXT_CREATING;
	default:
		return CPA_EXT_BLOCKED;
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

/* Whether the activity with times @e ends at the event of @node only as the thread lost its processor. */
static bool was_preempted(const struct cpa_elapsed *e, uint32_t node)
{
	const struct cpa_node *n = node ? cpa_row(CPA_TABLE_NODES, node) : NULL;

	return n && n->kind == CPA_EV_EXTERNAL && !e->external;
}

/* End an activity with times @e that is more than CPU time without samples. */
static __attribute__((noinline)) void end_eventful(struct cpa_worker *w,
						   const struct cpa_elapsed *e,
						   enum cpa_external external, uint32_t node,
						   uint64_t now)
{
	struct cpa_span span;

	span.process = e->process;
	span.runqueue = e->runqueue;
	span.probe = 0;
	span.sampled = 0;
	span.sampled_ticks = 0;
	span.stacks = w->sampler.stacks.latest ? &w->sampler.stacks : NULL;
	span.open = cpa_untimed_open(w);
	span.cut = unlikely(w->untimed.cut) || (unlikely(e->runqueue) && was_preempted(e, node));
	w->untimed.cut = false;
	span.calls = w->calls;
	span.external = span.earlier = 0;
	span.idle = span.earlier_idle = 0;
	if (unlikely(e->external))
		put_external(&span, external == CPA_EXT_OTHER ? unknown_kind(w, e) : external,
			     e->external);
	if (unlikely(w->calls)) {
		cpa_instrument_end(w->calls, &span);
		if (span.earlier)
			span.earlier_slot = slot_of(CPA_EXT_OTHER);
		if (span.earlier_idle)
			span.earlier_idle_slot = slot_of(CPA_EXT_BLOCKED);
	}
	if (unlikely(cpa_sampler_waiting(&w->sampler))) {
		cpa_sampler_take(&w->sampler, &span);
		w->clock.tick++;
	} else if (unlikely(e->process > cpa_sampler_latest())) {
		/*
		 * No sample arrived, perhaps because the signal is blocked: the function of the
		 * last sample no longer holds.
		 */
		cpa_owed_forget(&w->self);
	}
	cpa_activity_end(&w->self, &span, node);
	if (cpa_untimed_pending(w))
		cpa_untimed_end(w, &span);
	/* the thread may have been switched out */
	if (unlikely(w->clock.resumed == w->clock.last)) {
		cpa_sampler_switched(&w->sampler, w->clock.cpu);
		cpa_computes_note(w);
		w->self.slow++; /* the end of an operation is not a usual one: it was slow */
		if (unlikely(w->clock.ahead))
			cpa_force_slow(w);
	}
	cpa_journal_event(&w->self, now);
}

/*
 * The thread jumped out of its last wait, which became part of the activity that ends now: the time
 * that was hidden in it is on the path.
 */
static __attribute__((noinline)) void show_hidden(struct cpa_worker *w)
{
	w->self.row->path.observed[CPA_TIME_PROBE] += w->hidden.probe;
	w->self.row->path.observed[CPA_TIME_RUNQUEUE] += w->hidden.runqueue;
	w->hidden.probe = w->hidden.runqueue = 0;
}

static void end_activity(struct cpa_worker *w, const struct cpa_elapsed *e,
			 enum cpa_external external, uint32_t node, uint64_t now)
{
	cpa_stand_between(w);
	if (unlikely(w->hidden.probe | w->hidden.runqueue))
		show_hidden(w);
	/* Relaxed: see cpa_role_take(). */
	if (unlikely(__atomic_load_n(&w->self.row->role, __ATOMIC_RELAXED)))
		cpa_role_take(&w->self);
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

/* An event at tick @now ends an activity with times @e. Return the tick as it counts for paths. */
static uint64_t settled(struct cpa_worker *w, struct cpa_elapsed *e, uint64_t now)
{
	if (unlikely(cpa_window_moved(w)))
		cpa_window_late(w, e, false, now);
	return cpa_checkpoint(&w->self, now);
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
	if (unlikely(w->standing)) {
		cpa_op_stood(w);
		now = cpa_clock_now();
	}
	if (unlikely(w->suspended)) {
		cpa_suspend_ended(w);
		now = cpa_clock_now();
	}
	now = cpa_clock_stamp_at(&w->clock, &e, now);
	now = settled(w, &e, now);
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
	uint64_t now = cpa_clock_stamp(&w->clock, &e);

	now = settled(w, &e, now);
	end_activity(w, &e, external, cpa_track_node(w, CPA_EV_EXTERNAL, caller, 0), now);
	return now;
}

void cpa_event_slept(struct cpa_worker *w, const struct timespec *asked, uint64_t caller)
{
	struct cpa_elapsed e;
	uint64_t now = cpa_clock_stamp(&w->clock, &e), busy;
	enum cpa_external kind = CPA_EXT_SLEEP;

	if (e.runqueue > cpa_clock_ticks(CPA_ASLEEP_DOUBT))
		cpa_elapsed_slept(&e, cpa_clock_ticks(cpa_asleep(asked)));
	now = settled(w, &e, now);
	busy = w->self.row->process + e.process - w->sleeps.process;
	if (cpa_sleeps_are_idle(&w->sleeps, busy, e.external, cpa_clock_ticks(CPA_SLEEPS_OWN))) {
		kind = CPA_EXT_ROUNDS;
		cpa_diag(CPA_DIAG_ROUNDS);
	}
	end_activity(w, &e, kind, cpa_track_node(w, CPA_EV_EXTERNAL, caller, 0), now);
	w->sleeps.process = w->self.row->process;
}

/*
 * End the activity with times @e at clock @now. @waited: the thread waited at its end for as long as
 * it was blocked, and made an event of @kind then; else that time was external, of @external.
 */
static void end_blocked(struct cpa_worker *w, struct cpa_elapsed *e, enum cpa_external external,
			enum cpa_event_kind kind, uint64_t caller, bool waited,
			struct cpa_wait *wait)
{
	wait->now = wait->arrived = w->clock.last;
	if (unlikely(cpa_window_moved(w))) {
		cpa_window_late(w, e, waited, wait->now);
		wait->border = CPA_WAIT_LATE;
	}
	if (waited) {
		w->wait.length = e->external + e->runqueue;
		w->wait.runqueue = wait->runqueue = e->runqueue;
		wait->arrived -= w->wait.length;
		e->external = e->runqueue = 0;
	}
	wait->arrived = cpa_checkpoint(&w->self, wait->arrived);
	end_activity(w, e, external, cpa_track_node(w, waited ? kind : CPA_EV_EXTERNAL, caller, 0),
		     wait->arrived);
	if (waited)
		cpa_callers_wait(&w->sampler.callers, &w->self, w->clock.cpu, w->wait.length);
	wait->now = cpa_checkpoint(&w->self, wait->now);
	if (waited) /* behind the borders of intervals that it lasted over */
		w->self.row->wait += w->wait.length;
}

bool cpa_event_awaited(struct cpa_worker *w, enum cpa_external external, enum cpa_event_kind kind,
		       uint64_t caller, uint64_t ended, struct cpa_wait *wait)
{
	struct cpa_elapsed e;
	uint64_t now = cpa_clock_stamp(&w->clock, &e), length = e.external + e.runqueue;
	uint64_t woken = now - e.runqueue;
	bool waited = e.external && ended > now - length && ended <= now &&
		      (ended > woken || woken - ended <= cpa_clock_ticks(CHILD_LATE));

	end_blocked(w, &e, external, kind, caller, waited, wait);
	return waited;
}

bool cpa_event_waited(struct cpa_worker *w, enum cpa_event_kind kind, uint64_t caller,
		      uint64_t begun, struct cpa_wait *wait)
{
	struct cpa_elapsed e;
	bool waited;

	if (begun >= w->clock.last)
		cpa_clock_stamp_call(&w->clock, &e, begun, CPA_BRIEF_READ);
	else
		cpa_clock_stamp(&w->clock, &e);
	waited = e.external;
	end_blocked(w, &e, CPA_EXT_OTHER, kind, caller, waited, wait);
	return waited;
}

bool cpa_preempted(struct cpa_worker *w, enum cpa_brief kind)
{
	if (!cpa_clock_preempted(&w->clock, kind))
		return false;
	cpa_force_slow(w);
	w->sampler.switches++;
	return true;
}

void cpa_event_cut(struct cpa_worker *w, enum cpa_event_kind kind, const struct cpa_elapsed *e,
		   enum cpa_external external, uint64_t now)
{
	end_activity(w, e, external, cpa_track_node(w, kind, 0, 0), now);
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
	w->hidden.probe = w->hidden.runqueue = 0; /* part of the wait: see unexplained() */
	if (unlikely(!*cpa_alive)) { /* the profile has ended, or belongs to another process */
		cpa_alive_look();
		w->wait.length = w->wait.runqueue = 0;
		return w->clock.last;
	}
	now = cpa_clock_stamp_waited(&w->clock, &e);
	if (unlikely(w->clock.ahead))
		cpa_force_slow(w);
	if (w->clock.resumed == now) {
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
	row->wait_cpu += cpa_clock_wait_cpu(&w->clock, &e);
	w->wait.runqueue = e.runqueue;
	return now;
}

/*
 * Make @ticks of the last wait external time of @kind, but for @ready of them, in which the thread
 * was ready without a processor.
 */
static void unexplained(struct cpa_worker *w, enum cpa_external kind, uint64_t ticks,
			uint64_t ready)
{
	uint64_t length = w->wait.length < ticks ? w->wait.length : ticks;
	struct cpa_span span = { .calls = w->calls };
	enum cpa_time_kind rest = CPA_TIME_PROBE; /* what was hidden: cpa_track_hidden() */

	span.runqueue = ready < length ? ready : length;
	put_external(&span, kind, length - span.runqueue);
	/*
	 * The wait was cut at the border of a part: its cause is unknown, and its share of all
	 * threads' time as well.
	 */
	if (unlikely(!w->wait.length))
		rest = CPA_TIME_EXTERNAL;
	/*
	 * It went on at the end of the part, which ended without it; or a signal handler had events
	 * in it: up to the last of them its time is on the path.
	 */
	if (unlikely(w->window.arrived || (w->wait.length && !w->between)))
		ticks = length;
	w->self.row->path.observed[rest] += ticks - length;
	if (unlikely(w->calls))
		w->calls->time.external += span.external;
	if (unlikely(!*cpa_alive)) /* the end of the run ended the wait */
		return;
	w->self.row->wait -= length < w->self.row->wait ? length : w->self.row->wait;
	cpa_activity_end(&w->self, &span, w->self.row->node);
	cpa_journal_event(&w->self, w->self.row->path.released);
}

void cpa_unexplained(struct cpa_worker *w, enum cpa_external kind, uint64_t ticks)
{
	unexplained(w, kind, ticks, w->wait.runqueue);
}

void cpa_unexplained_first(struct cpa_worker *w, enum cpa_external kind, uint64_t ticks)
{
	uint64_t rest = w->wait.length > ticks ? w->wait.length - ticks : 0;

	/* The thread was ready after what woke it, so last. */
	unexplained(w, kind, ticks, w->wait.runqueue > rest ? w->wait.runqueue - rest : 0);
}

void cpa_unexplained_before(struct cpa_worker *w, enum cpa_external kind, uint64_t ticks)
{
	struct cpa_thread *row = w->self.row;
	uint32_t slot = slot_of(kind);

	/* A journal has what is on a path. */
	if (w->self.journal)
		return;
	ticks = ticks < row->wait ? ticks : row->wait;
	cpa_writing(row);
	row->wait -= ticks;
	row->external += ticks;
	if (slot < row->totals_slots)
		((uint64_t *)cpa_at(row->totals))[slot] += ticks;
	cpa_written(row);
}

void cpa_probe_count(struct cpa_thread *row, const struct cpa_elapsed *e)
{
	row->probe += e->process;
	row->runqueue += e->runqueue;
	row->path.observed[CPA_TIME_PROBE] += e->process + e->external;
	row->path.observed[CPA_TIME_RUNQUEUE] += e->runqueue;
}

void cpa_track_hidden(struct cpa_worker *w, const struct cpa_clock_gap *gap)
{
	struct cpa_elapsed e;

	cpa_clock_hidden(&w->clock, gap, &e);
	if (unlikely(cpa_window_moved(w)))
		cpa_window_late_probe(w, &e, gap->begun + e.process + e.runqueue + e.external);
	if (!w->between) {
		cpa_probe_count(w->self.row, &e);
		return;
	}
	w->self.row->probe += e.process;
	w->self.row->runqueue += e.runqueue;
	w->hidden.probe += e.process + e.external;
	w->hidden.runqueue += e.runqueue;
	cpa_force_slow(w); /* the next event finds it if the wait has no end: end_activity() */
}

bool cpa_track_private_call(struct cpa_worker *w, void (*function)(void *), void *argument)
{
	struct cpa_clock_gap gap;
	bool made;

	/* A child of vfork() has its parent's worker. */
	if (!w || !cpa_window_is_in(w) || !cpa_process_is_this())
		return cpa_private_fds_call(function, argument);
	gap = cpa_clock_hide(&w->clock);
	made = cpa_private_fds_call(function, argument);
	cpa_track_hidden(w, &gap);
	return made;
}

void cpa_track_probe(struct cpa_worker *w)
{
	struct cpa_elapsed e;

	cpa_clock_stamp(&w->clock, &e);
	if (unlikely(cpa_window_moved(w)))
		cpa_window_late_probe(w, &e, w->clock.last);
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

/*
 * The observed path came from a release @late ticks after the begin of @e, which were added to it
 * (shadow/edge/acquire.h): the thread's own time up to that release is not part of it.
 */
static __attribute__((noinline)) void drop_overlap(struct cpa_path *path,
						   const struct cpa_elapsed *e, uint64_t late)
{
	uint64_t rest = e->process + e->external, ready = late < e->runqueue ? late : e->runqueue;

	path->observed[CPA_TIME_RUNQUEUE] -= ready;
	late -= ready;
	path->observed[CPA_TIME_PROBE] -= late < rest ? late : rest;
}

/* cpa_done() by reading the clock. */
void cpa_done_slow(struct cpa_worker *w)
{
	struct cpa_path *path = &w->self.row->path;
	uint64_t late = path->released > w->clock.last ? path->released - w->clock.last : 0;
	struct cpa_elapsed e;

	if (w->self.slow != w->slow) { /* an unusual operation: do not learn its length */
		w->slow = w->self.slow;
		cpa_clock_stamp(&w->clock, &e);
	} else {
		cpa_clock_measure(&w->clock, &e);
	}
	if (unlikely(w->clock.ahead))
		cpa_force_slow(w);
	if (unlikely(cpa_window_moved(w)))
		cpa_window_late_probe(w, &e, w->clock.last);
	drop_samples(w);
	cpa_probe_count(w->self.row, &e);
	if (unlikely(late))
		drop_overlap(path, &e, late);
	w->between = 0;
	cpa_leave();
}

void cpa_done(struct cpa_worker *w)
{
	cpa_done_usual(w);
}
