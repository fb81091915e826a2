/* SPDX-License-Identifier: MIT */
/*
 * preload/core/window.h - a thread follows starts and stops of profiling
 *
 * A part is a time span of the run in which profiling is on (shadow/edge/part.h); the epoch counts
 * starts and stops (shadow/store/epoch.h). A worker keeps the epoch of its part, and cpa_enter()
 * compares it with the session's. While profiling is off a wrapper only calls the original. An
 * activity or wait that crosses the border of a part is cut there: exactly if the thread was on a
 * processor all the time, else in proportion (limit() and limit_sampled() in window.c say to what at
 * most). If a thread was blocked when a part began, its time is counted, and lies on no inherent path.
 */
#ifndef CPA_PRELOAD_CORE_WINDOW_H
#define CPA_PRELOAD_CORE_WINDOW_H

#include "preload/core/guard.h"

/*
 * Let @w enter the current part. Inside instrumentation code. False: profiling is off, the part has
 * ended again, or a wait of the thread goes on.
 */
CPA_HIDDEN bool cpa_window_meet(struct cpa_worker *w);

/*
 * The part of the thread has ended since it began the operation whose event is at tick @now: it lost its processor in
 * between. Take the time in which profiling was off out of @e, the times of the activity that ends. @waited: it was
 * blocked in a wait.
 */
CPA_HIDDEN void cpa_window_late(struct cpa_worker *w, struct cpa_elapsed *e, bool waited,
				uint64_t now);

/* The same of the times @e, up to tick @now, of an operation of ours: they are on no path but the observed one. */
CPA_HIDDEN void cpa_window_late_probe(struct cpa_worker *w, struct cpa_elapsed *e, uint64_t now);

/*
 * A wait from *@arrived to @now (ticks) with times @e crossed the border of a part. Cut it: *@arrived
 * becomes the tick at which the wait began inside its part. Return the tick at which it ended there.
 */
CPA_HIDDEN uint64_t cpa_window_crossed(struct cpa_worker *w, struct cpa_elapsed *e,
				       uint64_t *arrived, uint64_t now);

/*
 * The thread is about to longjmp() to stack pointer @target. If a signal handler so jumps out of a
 * wait, the wait ends and an activity begins, which may cross the border of a part.
 */
CPA_HIDDEN void cpa_window_jump(uint64_t target);

/*
 * cpa_enter_any(): as cpa_enter(), but enters also while profiling is off, for operations that must
 * not be missed. The caller makes no event then. cpa_enter_known(): as cpa_enter_any(), but never
 * allocates a thread row, as very many threads may never be in a part.
 */
CPA_HIDDEN struct cpa_worker *cpa_enter_any_slow(void);
CPA_HIDDEN struct cpa_worker *cpa_enter_known(void);
static inline struct cpa_worker *cpa_enter_any(void)
{
	struct cpa_worker *w = cpa_tls.worker;

	if (unlikely(!*cpa_alive || cpa_tls.inside || !w || cpa_window_moved(w)))
		return cpa_enter_any_slow();
	cpa_reenter();
	return w;
}

/* Whether the calling thread, which entered by cpa_enter_any(), is in a part. */
static inline bool cpa_window_is_in(const struct cpa_worker *w)
{
	return w->window.epoch && !cpa_window_moved(w);
}

/* How a thread meets the begin of a part, and so what is known of its work in it until then. */
enum cpa_meets {
	CPA_MEETS_EVENT,
	CPA_MEETS_CALL,	 /* returns from one that began before the part: no work */
	CPA_MEETS_SAMPLE /* in an activity that goes on: its work is that of a long one */
};

/* cpa_enter(), of a thread that may meet the begin of a part in that way. */
CPA_HIDDEN struct cpa_worker *cpa_enter_as(enum cpa_meets meets);

/* cpa_enter(), of a thread that is back from a call, was blocked in it for a reason of @kind, and has a worker. */
CPA_HIDDEN struct cpa_worker *cpa_enter_from(enum cpa_external kind);

/*
 * The timer's signal has interrupted @context in a thread that is in no part, or in one that is over. A thread
 * without events enters and leaves parts of the run here.
 */
CPA_HIDDEN void cpa_window_sampled(struct cpa_worker *w, const void *context);

/* After an original that was called while profiling was off: enter if a part has begun meanwhile. */
static inline struct cpa_worker *cpa_enter_begun(void)
{
	if (likely(!*cpa_alive || cpa_tls.inside || !(cpa_header()->epoch & 1)))
		return NULL;
	return cpa_enter_as(CPA_MEETS_CALL);
}

/* CPA_START() and CPA_STOP() of the program. errno is kept. */
CPA_HIDDEN void cpa_window_start(void);
CPA_HIDDEN void cpa_window_stop(uint64_t caller);

#endif
