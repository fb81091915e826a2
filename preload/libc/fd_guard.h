/* SPDX-License-Identifier: MIT */
/*
 * preload/libc/fd_guard.h - a descriptor of ours that is to be in the program's table
 *
 * open() gives it the lowest free number, on which the program may be about to put something by
 * dup2(), or which it closes with all that it does not know. Such calls and ours exclude each
 * other: they wait for us, which is microseconds, and we do without where they are under way. A
 * call that does not pass by libc is only looked for.
 *
 * I1  Nobody waits for ever: not the program, whoever of us may have died, or be of a process before
 *     a fork; nor do we, who come again.
 * I2  Whoever of us has the right can be interrupted by no handler, which might wait for it.
 */
#ifndef CPA_PRELOAD_LIBC_FD_GUARD_H
#define CPA_PRELOAD_LIBC_FD_GUARD_H

#include <signal.h>

#include "shadow/store/session.h"

/* No call of the program's puts or closes what has no owner until the end. False: not now. */
CPA_HIDDEN bool cpa_fd_guard_begin(sigset_t *signals);
CPA_HIDDEN void cpa_fd_guard_end(const sigset_t *signals);

/* A call of the program's is under way that does. Either may be called in a signal handler. */
CPA_HIDDEN void cpa_fd_guard_place(void);
CPA_HIDDEN void cpa_fd_guard_placed(void);

/* In the child of a fork, with as many calls under way as forks that the thread is in. */
CPA_HIDDEN void cpa_fd_guard_forked(uint32_t forks);

#endif
