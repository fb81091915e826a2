/* SPDX-License-Identifier: MIT */
/*
 * preload/core/suspend.h - the wait for a signal's handler: pause(), sigsuspend()
 *
 * The latest signal sent within the process, if it was sent just before the wait ended, is taken as
 * its cause. A handler may also jump out of the wait.
 */
#ifndef CPA_PRELOAD_CORE_SUSPEND_H
#define CPA_PRELOAD_CORE_SUSPEND_H

#include "preload/core/guard.h"

/*
 * A thread that sends a signal publishes its path before, and may lose its processor before the kernel has the
 * signal. So the wait that the signal ends need not begin before the path is published, nor end soon after;
 * but it ends before the call that sends returns.
 */

/* The one object that stands for all such waits. NULL: no thread has waited yet, or no space. */
CPA_HIDDEN struct cpa_object *cpa_suspend_handlers(struct cpa_worker *w, uint64_t caller);

/*
 * The calling thread, of row @row, has published its path in that object, and sends a signal within the process
 * until cpa_suspend_sent(), or its next event if the signal's handler jumps.
 */
CPA_HIDDEN void cpa_suspend_sending(const struct cpa_thread *row);
CPA_HIDDEN void cpa_suspend_sent(void);

/*
 * The calling thread is about to wait for a handler. From now on signals sent within the process are
 * recorded. The thread's next event ends the wait; the handler may make that event.
 */
CPA_HIDDEN void cpa_suspend_begin(uint64_t caller);

/*
 * @w was blocked in such a wait. If a signal sent within the process ended the wait, record a wait
 * for the sender, else external time. Inside instrumentation code only.
 */
CPA_HIDDEN void cpa_suspend_ended(struct cpa_worker *w);

#endif
