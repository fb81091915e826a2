/* SPDX-License-Identifier: MIT */
/*
 * preload/libc/fd_guard.h - mutual exclusion for descriptors of ours in the program's table
 *
 * open() returns the lowest free number. The program may be about to dup2() something to that
 * number, or to close every descriptor that it does not know. It may have closed number 0 to get that by
 * dup(), or rely on the second end of a pipe having the higher number. Such calls of the program wait,
 * some microseconds, while the profiler opens a descriptor; the profiler gives up while such a call is
 * under way. A call that bypasses libc is not excluded, nor is open(), which may block; the profiler only
 * looks for effects.
 *
 * I1  Neither side blocks forever, not even if the holder died or belonged to a process before a
 *     fork: the program waits some seconds at most, once for a holder that does not come back, and the
 *     profiler retries later.
 * I2  No signal handler interrupts the holder, but for those of faults, which do not wait for it.
 */
#ifndef CPA_PRELOAD_LIBC_FD_GUARD_H
#define CPA_PRELOAD_LIBC_FD_GUARD_H

#include <signal.h>

#include "shadow/store/session.h"

/*
 * From cpa_fd_guard_begin() to cpa_fd_guard_end() no call of the program occupies, or closes, a number
 * that it does not own. @signals receives the signal mask, for cpa_fd_guard_end(). False: such a
 * call is under way, or another thread of the profiler holds the guard; nothing has changed.
 */
CPA_HIDDEN bool cpa_fd_guard_begin(sigset_t *signals);
CPA_HIDDEN void cpa_fd_guard_end(const sigset_t *signals);

/*
 * Before and after a call of the program that occupies or closes numbers it does not own.
 * cpa_fd_guard_place() waits while the profiler holds the guard. Async-signal-safe.
 */
CPA_HIDDEN void cpa_fd_guard_place(void);
CPA_HIDDEN void cpa_fd_guard_placed(void);

/*
 * The stack pointer in the latest of such calls that the thread is in; 0: in none, or not known. If a signal
 * handler jumps to a frame above it the call is over: cpa_fd_guard_placed() is called then.
 */
CPA_HIDDEN uint64_t cpa_fd_guard_frame(void);

/* The thread ends: so do the calls that it is in, one in another if handlers interrupted them. */
CPA_HIDDEN void cpa_fd_guard_ended(void);

/* cpa_fd_guard_placed() of a fork, in the child, which has no other threads. */
CPA_HIDDEN void cpa_fd_guard_forked(void);

#endif
