/* SPDX-License-Identifier: MIT */
/*
 * preload/core/window.h - a thread meets the changes of the epoch (shadow/store/epoch.h, shadow/edge/part.h)
 *
 * A worker keeps the epoch of the part it is in; cpa_enter() compares. While profiling is off a
 * thread passes straight through. What of an activity or of a wait lies outside a part is cut off:
 * exactly if the thread was on a processor all the time, else in proportion. Of what a thread was
 * blocked in when a part began nothing is known: that time is on no inherent path, and counted.
 */
#ifndef CPA_PRELOAD_CORE_WINDOW_H
#define CPA_PRELOAD_CORE_WINDOW_H

#include "preload/core/worker.h"

/* Be in the current part, inside our code. False: there is none, or none yet; or a wait goes on. */
CPA_HIDDEN bool cpa_window_meet(struct cpa_worker *w);

/*
 * A wait of @e, from *@arrived to @now, went on across a border. Return when it ended as far as its
 * part goes; *@arrived becomes when it began in that part.
 */
CPA_HIDDEN uint64_t cpa_window_crossed(struct cpa_worker *w, struct cpa_elapsed *e,
				       uint64_t *arrived, uint64_t now);

/*
 * The thread jumps to where the stack pointer is @target. Out of a wait, from a signal handler:
 * what comes then is an activity, which may meet a border.
 */
CPA_HIDDEN void cpa_window_jump(uint64_t target);

/*
 * Enter also while off: for what must not be missed. There is no event to be made then. Known: not
 * if that took a row for the thread, which may be one of very many that are never in a part.
 */
CPA_HIDDEN struct cpa_worker *cpa_enter_any(void);
CPA_HIDDEN struct cpa_worker *cpa_enter_known(void);

/* Whether the calling thread, which entered by cpa_enter_any(), is in a part. */
static inline bool cpa_window_is_in(const struct cpa_worker *w)
{
	return w->epoch && !cpa_window_moved(w);
}

/* After a call that began while off: enter if a part has begun meanwhile. */
static inline struct cpa_worker *cpa_enter_begun(void)
{
	if (likely(!*cpa_alive || cpa_tls.inside || !(cpa_header()->epoch & 1)))
		return NULL;
	return cpa_enter();
}

/* The program switches on or off. errno is kept. */
CPA_HIDDEN void cpa_window_start(void);
CPA_HIDDEN void cpa_window_stop(uint64_t caller);

#endif
