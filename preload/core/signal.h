/* SPDX-License-Identifier: MIT */
/*
 * preload/core/signal.h - the one signal that we use, shared with the program
 *
 * SIGSTKFLT, which Linux never sends. A program that sets handlers for every signal sets one for
 * it, too: its disposition is then kept here, returned when asked for, and applied to signals that
 * are not ours. Ours come from timers and carry cpa_signal_mark. Handlers of other signals that run
 * on an alternate stack have ours masked: the stack is as large as the program needs it.
 */
#ifndef CPA_PRELOAD_CORE_SIGNAL_H
#define CPA_PRELOAD_CORE_SIGNAL_H

#include <signal.h>

#include "preload/libc/signal_mask.h"
#include "shadow/store/session.h"

#define CPA_SIGNAL SIGSTKFLT

extern CPA_HIDDEN const char cpa_signal_mark;

/* Whether a signal of number CPA_SIGNAL is the sampler's. */
CPA_HIDDEN bool cpa_signal_is_ours(const siginfo_t *info);

/*
 * Call @handler(context, times) for our signals from now on; a timer may have passed several times.
 * Once, at start. False: not possible.
 */
CPA_HIDDEN bool cpa_signal_init(void (*handler)(void *context, unsigned times));

/*
 * The mask of a call that lets signals through which the thread blocks: @mask, or where one of ours
 * is pending and the program has no handler for it, @copy with it. @mask may be NULL.
 */
CPA_HIDDEN const sigset_t *cpa_signal_without_ours(const sigset_t *mask, sigset_t *copy);

/* Ours are of no more use: from now on they reach nobody, and cost no system call. */
CPA_HIDDEN void cpa_signal_fini(void);

/*
 * The thread jumps to where the stack pointer is @target. Whether that leaves what has it at @from,
 * or a signal handler which interrupted that jumps about in itself: below, or on a stack of its own.
 */
CPA_HIDDEN bool cpa_signal_leaves(uint64_t from, uint64_t target);

#endif
