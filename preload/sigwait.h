/* SPDX-License-Identifier: MIT */
/*
 * preload/sigwait.h - the wait for a signal's handler
 */
#ifndef CPA_PRELOAD_SIGWAIT_H
#define CPA_PRELOAD_SIGWAIT_H

#include "preload/worker.h"

struct cpa_signal_wait {
	struct cpa_worker *w; /* NULL: it is not looked at */
	struct cpa_object *object;
	uint64_t caller, arrived;
};

/*
 * Before and after pause() and its like; or cpa_signal_cancelled(), of the same, if the thread was. Not
 * inside our code in between; errno is kept.
 */
CPA_HIDDEN struct cpa_signal_wait cpa_signal_wait(uint64_t caller);
CPA_HIDDEN void cpa_signal_woken(struct cpa_signal_wait *wait);
CPA_HIDDEN void cpa_signal_cancelled(void *wait);

#endif
