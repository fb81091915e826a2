/* SPDX-License-Identifier: MIT */
/*
 * preload/sync/sigwait.h - the wait for a signal's handler
 */
#ifndef CPA_PRELOAD_SYNC_SIGWAIT_H
#define CPA_PRELOAD_SYNC_SIGWAIT_H

#include "preload/core/worker.h"

/*
 * The calling thread is about to wait for a handler. Signals sent within the process are of
 * interest from now on, and the thread's next event, which may be one of the handler's, ends the
 * wait.
 */
CPA_HIDDEN void cpa_signal_await(uint64_t caller);

/*
 * @w was blocked in such a wait. If a signal that was sent within the process ended that, it was a
 * wait for the sender; else time of the external kind. Inside our code only.
 */
CPA_HIDDEN void cpa_signal_awaited(struct cpa_worker *w);

#endif
