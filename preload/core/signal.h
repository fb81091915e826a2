/* SPDX-License-Identifier: MIT */
/*
 * preload/core/signal.h - the signal of the sampler, shared with the program
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

/* Bytes of an alternate stack without which its handler takes no stack and opens no perf event. */
#define CPA_SIGNAL_ROOM 3072u

extern CPA_HIDDEN const char cpa_signal_mark;

/* Whether a signal of number CPA_SIGNAL is the sampler's. */
CPA_HIDDEN bool cpa_signal_is_ours(const siginfo_t *info);

/*
 * Whether the program blocks CPA_SIGNAL in the calling thread; @mask: its mask, NULL: the present one, if cpa does
 * not hold signals.
 */
CPA_HIDDEN bool cpa_signal_is_blocked(const sigset_t *mask);

/*
 * Take back a signal of the sampler that is pending, but not one that the program sent before. One that it sent to
 * the thread with a value becomes one of the process: the kernel does not tell the two apart. The thread blocks
 * CPA_SIGNAL. Between cpa_kernel_begin() and cpa_kernel_end().
 */
CPA_HIDDEN void cpa_signal_take_back(void);

/*
 * Call @handler(context, times) for our signals from now on; a timer may have passed several times.
 * Once, at start. False: not possible.
 */
CPA_HIDDEN bool cpa_signal_init(void (*handler)(void *context, unsigned times));

/*
 * The mask for a call such as sigsuspend(), which unblocks signals meanwhile. Return @mask; if a
 * signal of the sampler is pending and the program has no handler for CPA_SIGNAL, return @copy, set
 * to @mask with CPA_SIGNAL added. @mask may be NULL.
 */
CPA_HIDDEN const sigset_t *cpa_signal_without_ours(const sigset_t *mask, sigset_t *copy);

/* The program sends CPA_SIGNAL. Signal-safe. */
CPA_HIDDEN void cpa_signal_sent(void);

/* Whether the program has sent no CPA_SIGNAL, as far as is known: one that is pending is the sampler's. Signal-safe. */
CPA_HIDDEN bool cpa_signal_is_only_ours(void);

/* Ignore the sampler's signals from now on, without a system call. */
CPA_HIDDEN void cpa_signal_fini(void);

/*
 * The thread jumps to stack pointer @target. Return whether the jump abandons the frame at stack
 * pointer @from. It does not if a signal handler that interrupted that frame jumps within itself,
 * below the frame or on an alternate stack.
 */
CPA_HIDDEN bool cpa_signal_leaves(uint64_t from, uint64_t target);

/*
 * What the signal handler interrupted that has done nothing yet, or has returned, in @context; NULL: none has, or its
 * stack cannot be read. Kernels put a signal of a higher number on top of a handler that has not begun yet.
 * Async-signal-safe; errno is changed.
 */
CPA_HIDDEN const void *cpa_signal_interrupted(const void *context);

/* Return false if the thread runs on an alternate stack that has fewer than @bytes left. */
CPA_HIDDEN bool cpa_signal_has_room(uint64_t bytes);

#endif
