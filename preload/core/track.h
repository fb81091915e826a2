/* SPDX-License-Identifier: MIT */
/*
 * preload/core/track.h - what every wrapper does: end an activity, wait, begin the next one
 *
 *	w = cpa_enter();                          NULL: call the original, no more
 *	now = cpa_event(w, kind, site, class);    the activity ends here
 *	...                                       paths and objects: shadow/edge/acquire.h
 *	cpa_done(w);                              the next activity begins here; leaves
 *
 * The time between cpa_event() and cpa_done() is probe time. A wrapper that blocks calls
 * cpa_leave() before the original function and cpa_waited() after it.
 */
#ifndef CPA_PRELOAD_CORE_TRACK_H
#define CPA_PRELOAD_CORE_TRACK_H

#include "preload/core/worker.h"
#include "shadow/arch/arch.h"
#include "shadow/store/hash.h"

#define CPA_CALLER() ((uint64_t)__builtin_return_address(0))

/* End the activity at an event on an object of class row @class. Return the clock. */
CPA_HIDDEN uint64_t cpa_event(struct cpa_worker *w, enum cpa_event_kind kind, uint64_t caller,
			      uint32_t class);

/* As cpa_event(); time without a processor is external time of @external. */
CPA_HIDDEN uint64_t cpa_event_external(struct cpa_worker *w, enum cpa_external external,
				       uint64_t caller);

/*
 * Back from an original that blocked since *@arrived: enter, count the wait, whose samples are no
 * function's. Return the clock. Where the part of the run began or ended meanwhile, both are what of
 * the wait is in the part.
 */
CPA_HIDDEN uint64_t cpa_waited(struct cpa_worker *w, uint64_t *arrived);

/*
 * As cpa_event_external(), of an activity in which a child may have ended, or another thread have
 * sent a signal, at clock @ended: if it did so when the thread was blocked, and that shortly before
 * it went on, this was a wait for it, from @wait->arrived to @wait->now, with an event of @kind.
 * Return whether it was.
 */
CPA_HIDDEN bool cpa_event_awaited(struct cpa_worker *w, enum cpa_external external,
				  enum cpa_event_kind kind, uint64_t caller, uint64_t ended,
				  struct cpa_wait *wait);

/* As cpa_event() at clock @now, of an activity of which @e lies in the part of the run. */
CPA_HIDDEN void cpa_event_cut(struct cpa_worker *w, enum cpa_event_kind kind,
			      const struct cpa_elapsed *e, uint64_t now);

/* The times of @e, of the thread with row @row, were ours. */
CPA_HIDDEN void cpa_probe_count(struct cpa_thread *row, const struct cpa_elapsed *e);

/* The time since the last look at the clock was ours. */
CPA_HIDDEN void cpa_track_probe(struct cpa_worker *w);

/* The last wait, of @ticks, is not explained by a release: it becomes external time. */
CPA_HIDDEN void cpa_unexplained(struct cpa_worker *w, enum cpa_external kind, uint64_t ticks);

/* A wait was ended by a release that we did not see. @waited: there was a wait. */
CPA_HIDDEN void cpa_unmatched(struct cpa_worker *w, bool waited);

/* Begin the next activity, and leave. */
CPA_HIDDEN void cpa_done(struct cpa_worker *w);

/* As cpa_track_place(), of a node that is not at place @at. @event: as there. */
CPA_HIDDEN struct cpa_node_place *cpa_track_place_slow(struct cpa_worker *w, unsigned at,
						       uint64_t caller, uint32_t event);

/* The PAG node of an event, in the thread's cache. */
static inline struct cpa_node_place *cpa_track_place(struct cpa_worker *w, enum cpa_event_kind kind,
						     uint64_t caller, uint32_t class)
{
	uint32_t event = (uint32_t)kind << 24 | (class & 0xffffff);
	uint64_t mixed = cpa_hash(caller ^ (uint64_t)event << 32 ^ class);
	/* The highest bits: only they hang on all of the kind, the class and the caller. */
	unsigned at = (unsigned)(mixed >> 32) / (UINT32_MAX / CPA_NODE_CACHE + 1);

	if (likely(w->nodes[at].caller == caller && w->nodes[at].event == event))
		return &w->nodes[at];
	return cpa_track_place_slow(w, at, caller, event);
}

/* Its row. */
static inline uint32_t cpa_track_node(struct cpa_worker *w, enum cpa_event_kind kind,
				      uint64_t caller, uint32_t class)
{
	return cpa_track_place(w, kind, caller, class)->row;
}

/* The thread is at an event, and no longer in an activity. */
static inline void cpa_stand_between(struct cpa_worker *w)
{
	/* As good as `true`, and tells a jump out of the wait: preload/core/window.h. */
	CPA_ARCH_STORE_STACK_POINTER(w->between);
}

/* Make the components of external time. Once, at start. */
CPA_HIDDEN void cpa_track_init(void);

#endif
