/* SPDX-License-Identifier: MIT */
/*
 * preload/core/track.h - the steps of every wrapper: end an activity, wait, begin the next one
 *
 *	w = cpa_enter();                          NULL: only call the original
 *	now = cpa_event(w, kind, site, class);    the activity ends here
 *	...                                       paths and objects: shadow/edge/acquire.h
 *	cpa_done(w);                              the next activity begins here; leaves
 *
 * The time between cpa_event() and cpa_done() is probe time. A wrapper that blocks calls
 * cpa_leave() before the original function and cpa_waited() after it.
 */
#ifndef CPA_PRELOAD_CORE_TRACK_H
#define CPA_PRELOAD_CORE_TRACK_H

#include "preload/core/guard.h"
#include "shadow/arch/arch.h"
#include "shadow/store/hash.h"

#define CPA_CALLER() ((uint64_t)__builtin_return_address(0))

/* End the activity at an event on an object of class row @class. Return the clock, in ticks. */
CPA_HIDDEN uint64_t cpa_event(struct cpa_worker *w, enum cpa_event_kind kind, uint64_t caller,
			      uint32_t class);

/*
 * As cpa_event(); the activity's time without a processor is external time of kind @external.
 * CPA_EXT_OTHER: of no known kind.
 */
CPA_HIDDEN uint64_t cpa_event_external(struct cpa_worker *w, enum cpa_external external,
				       uint64_t caller);

/*
 * As cpa_event_external(), behind a sleep; @asked: of at least so long, where the program has that, NULL: not known. A
 * thread that does little but sleep is idle: preload/core/sleeps.h. Changes errno.
 */
CPA_HIDDEN void cpa_event_slept(struct cpa_worker *w, const struct timespec *asked,
				uint64_t caller);

/*
 * An original returned that blocked since tick *@arrived: enter instrumentation code and count the
 * wait. Samples in the wait are dropped. Return the clock. If the part of the run began or ended
 * during the wait, *@arrived and the return value are the bounds of the wait inside the part.
 */
CPA_HIDDEN uint64_t cpa_waited(struct cpa_worker *w, uint64_t *arrived);

/*
 * As cpa_event_external(), if a child ended or another thread sent a signal at tick @ended. If the
 * thread was blocked then, and went on shortly after, record a wait for that child or thread, from
 * tick @wait->arrived to @wait->now, with an event of @kind. Return whether there was such a wait.
 */
CPA_HIDDEN bool cpa_event_awaited(struct cpa_worker *w, enum cpa_external external,
				  enum cpa_event_kind kind, uint64_t caller, uint64_t ended,
				  struct cpa_wait *wait);

/*
 * The thread returned from a call that may have blocked it, and knows what it waited for then. If it
 * was blocked since its last event all that time is the wait, from tick @wait->arrived to @wait->now,
 * with an event of @kind; return true. Else, if it was only switched out, make an event and return
 * false; both ticks are now. @begun: tick at which the call began, if what it waited for came after that;
 * else 0.
 */
CPA_HIDDEN bool cpa_event_waited(struct cpa_worker *w, enum cpa_event_kind kind, uint64_t caller,
				 uint64_t begun, struct cpa_wait *wait);

/*
 * As cpa_event() at tick @now; @e: the times of the activity inside the part of the run, blocked for a
 * reason of @external.
 */
CPA_HIDDEN void cpa_event_cut(struct cpa_worker *w, enum cpa_event_kind kind,
			      const struct cpa_elapsed *e, enum cpa_external external,
			      uint64_t now);

/* Count the times @e of thread row @row as probe time. */
CPA_HIDDEN void cpa_probe_count(struct cpa_thread *row, const struct cpa_elapsed *e);

/*
 * Leave the time since @gap = cpa_clock_hide() out of the activity or wait that the thread is in: count it
 * as probe time. The observed path gets that of a wait when it ends, or at the next event if the thread jumps
 * out of it: the path may go another way until then.
 */
CPA_HIDDEN void cpa_track_hidden(struct cpa_worker *w, const struct cpa_clock_gap *gap);

/*
 * As cpa_private_fds_call(), which waits for a thread of ours, so perhaps for a processor: that is no time of
 * the program, if the calling thread is @w. NULL: it is in a signal handler that may have interrupted the
 * reading of its clock, or has none. Inside our code.
 */
CPA_HIDDEN bool cpa_track_private_call(struct cpa_worker *w, void (*function)(void *),
				       void *argument);

/* Count the time since the last stamp as probe time. */
CPA_HIDDEN void cpa_track_probe(struct cpa_worker *w);

/*
 * The thread was switched out in a call of @kind that began at its last event, and in which it does not
 * block: the activity goes on, and has run-queue time. False: it was long, and the next event must tell.
 */
CPA_HIDDEN bool cpa_preempted(struct cpa_worker *w, enum cpa_brief kind);

/* No release explains the last @ticks of the last wait: make them external time of @kind. */
CPA_HIDDEN void cpa_unexplained(struct cpa_worker *w, enum cpa_external kind, uint64_t ticks);

/* As cpa_unexplained(), of the first @ticks of the last wait. */
CPA_HIDDEN void cpa_unexplained_first(struct cpa_worker *w, enum cpa_external kind, uint64_t ticks);

/* Of the thread's waits in parts of the run that are over, @ticks were idle time of @kind. On no path; not with a journal. */
CPA_HIDDEN void cpa_unexplained_before(struct cpa_worker *w, enum cpa_external kind,
				       uint64_t ticks);

/* Count an operation that an unseen release must have let through. @waited: it blocked. */
CPA_HIDDEN void cpa_unmatched(struct cpa_worker *w, bool waited);

/* The thread is back from an original that wakes another, and does not block. */
static inline void cpa_woke(void)
{
	struct cpa_worker *w = cpa_tls.worker;

	if (w && unlikely(cpa_clock_switched(&w->clock)) && cpa_enter()) {
		cpa_preempted(w, CPA_BRIEF_WRITE);
		cpa_leave();
	}
}

/* Begin the next activity, and leave instrumentation code. */
CPA_HIDDEN void cpa_done(struct cpa_worker *w);

/* cpa_track_place() of a node that is not at place @at. @event: {kind:8, class:24}. */
CPA_HIDDEN struct cpa_node_place *cpa_track_place_slow(struct cpa_worker *w, unsigned at,
						       uint64_t caller, uint32_t event);

/* The place of an event's PAG node in the thread's cache. */
static inline struct cpa_node_place *cpa_track_place(struct cpa_worker *w, enum cpa_event_kind kind,
						     uint64_t caller, uint32_t class)
{
	uint32_t event = (uint32_t)kind << 24 | (class & 0xffffff);
	uint64_t mixed = cpa_hash(caller ^ (uint64_t)event << 32 ^ class);
	/* The highest bits: only they depend on all of kind, class and caller. */
	unsigned at = (unsigned)(mixed >> 32) / (UINT32_MAX / CPA_NODE_CACHE + 1);

	if (likely(w->nodes.places[at].caller == caller && w->nodes.places[at].event == event))
		return &w->nodes.places[at];
	return cpa_track_place_slow(w, at, caller, event);
}

/* The row of an event's PAG node. */
static inline uint32_t cpa_track_node(struct cpa_worker *w, enum cpa_event_kind kind,
				      uint64_t caller, uint32_t class)
{
	return cpa_track_place(w, kind, caller, class)->row;
}

/* The thread is at an event: its activity has ended. */
static inline void cpa_stand_between(struct cpa_worker *w)
{
	/* Not 0, and tells a jump out of the wait: cpa_window_jump() in preload/core/window.h. */
	CPA_ARCH_STORE_STACK_POINTER(w->between);
}

#endif
