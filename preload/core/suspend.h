/* SPDX-License-Identifier: MIT */
/*
 * preload/core/suspend.h - the wait for a signal's handler: pause(), sigsuspend()
 *
 * It ends by the latest signal, if that was sent within the process just before; a handler may also
 * jump out of it.
 */
#ifndef CPA_PRELOAD_CORE_SUSPEND_H
#define CPA_PRELOAD_CORE_SUSPEND_H

#include "preload/core/worker.h"

/* The object of all such waits; NULL: nobody has waited yet, or there is no room. */
CPA_HIDDEN struct cpa_object *cpa_suspend_handlers(struct cpa_worker *w, uint64_t caller);

/*
 * The calling thread is about to wait for a handler. Signals sent within the process are of
 * interest from now on, and the thread's next event, which may be one of the handler's, ends the
 * wait.
 */
CPA_HIDDEN void cpa_suspend_begin(uint64_t caller);

/*
 * @w was blocked in such a wait. If a signal that was sent within the process ended that, it was a
 * wait for the sender; else time of the external kind. Inside our code only.
 */
CPA_HIDDEN void cpa_suspend_ended(struct cpa_worker *w);

#endif
