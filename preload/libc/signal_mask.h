/* SPDX-License-Identifier: MIT */
/*
 * preload/libc/signal_mask.h - our code where no signal handler may interrupt it
 */
#ifndef CPA_PRELOAD_LIBC_SIGNAL_MASK_H
#define CPA_PRELOAD_LIBC_SIGNAL_MASK_H

#include <signal.h>

#include "shadow/store/session.h"

/*
 * Fill @mask with the signals that are blocked in our code. Signals that our own instructions may raise are not blocked: the kernel would end the process
 * rather than run the program's handler. SIGSEGV is: the handler of a program whose stack overflows
 * right there jumps, and leaves what we hold locked for ever.
 */
CPA_HIDDEN void cpa_signal_mask(sigset_t *mask);

/*
 * Block all signals but those of faults, up to cpa_kernel_end(); the mask until then is in @before.
 * False: no system call of ours is allowed any more, and nothing is changed.
 */
CPA_HIDDEN bool cpa_signal_block(sigset_t *before);

/*
 * Let no handler interrupt the thread, but those of faults, and let them again. Where no system call
 * of ours is allowed any more neither does anything. errno is kept.
 */
CPA_HIDDEN sigset_t cpa_signal_hold(void);
CPA_HIDDEN void cpa_signal_let(const sigset_t *before);

#endif
