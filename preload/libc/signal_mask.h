/* SPDX-License-Identifier: MIT */
/*
 * preload/libc/signal_mask.h - block signals in instrumentation code
 */
#ifndef CPA_PRELOAD_LIBC_SIGNAL_MASK_H
#define CPA_PRELOAD_LIBC_SIGNAL_MASK_H

#include <signal.h>

#include "shadow/store/session.h"

/*
 * Fill @mask with the signals that are blocked in instrumentation code. Signals that its own
 * instructions may raise stay unblocked: the kernel would end the process rather than run the
 * program's handler. SIGSEGV is blocked: if the program's stack overflows in instrumentation code,
 * the program's handler would jump out and leave our state locked forever. So would an asynchronous
 * cancellation, whose signal is blocked, too. That of setuid() is not: who calls that waits for all threads.
 */
CPA_HIDDEN void cpa_signal_mask(sigset_t *mask);

/* Whether @mask, which the kernel gave, is that of cpa_signal_mask(). Then it does not tell what the program blocks. */
CPA_HIDDEN bool cpa_signal_is_held(const sigset_t *mask);

/*
 * Block the signals of cpa_signal_mask() until the caller restores @before, which receives the
 * previous mask and may be NULL. The caller ends with cpa_kernel_end(). False: the profiler may make
 * no more system calls, and nothing has changed.
 */
CPA_HIDDEN bool cpa_signal_block(sigset_t *before);

/*
 * Block the signals of cpa_signal_mask(), and restore the mask that cpa_signal_hold() returned. Both
 * do nothing once the profiler may make no more system calls. errno is kept.
 */
CPA_HIDDEN sigset_t cpa_signal_hold(void);
CPA_HIDDEN void cpa_signal_let(const sigset_t *before);

#endif
