/* SPDX-License-Identifier: MIT */
/*
 * shadow/store/kernel.h - system calls of ours, and the moment after which there are none
 *
 * A program may install a seccomp filter for all of its threads at once, and be killed for a system
 * call of ours that it never makes. Threads are then anywhere in our code: also in operations that
 * began long before, as behind a wait. So each system call of ours, while the program runs, lies
 * between cpa_kernel_begin() and cpa_kernel_end(), and whoever installs a filter closes first:
 *
 * I1  Once cpa_kernel_close() has returned nobody is in between, and nobody comes in any more.
 * I2  Nobody waits for ever: a thread that a signal handler keeps, or took out, is waited for some
 *     seconds at most. It may then make the one call that it was about to make.
 *
 * Two uncontended atomic additions, some 10 ns. Threads share 64 counters, each in a cache line.
 * All functions are async-signal-safe.
 */
#ifndef CPA_SHADOW_STORE_KERNEL_H
#define CPA_SHADOW_STORE_KERNEL_H

#include <sys/syscall.h>

#include "shadow/store/session.h"

/*
 * Whether system calls may be made up to cpa_kernel_end(), which is to be called then. May be nested;
 * the inner one may be refused where the outer one was not. errno is kept.
 */
CPA_HIDDEN bool cpa_kernel_begin(void);
CPA_HIDDEN void cpa_kernel_end(void);

/* Make the system call @number, as syscall(). Closed: -1, and errno is ENOSYS. */
CPA_HIDDEN long cpa_kernel(long number, ...);

/* No system call of ours from now on, in this process and in children that it forks. */
CPA_HIDDEN void cpa_kernel_close(void);
CPA_HIDDEN bool cpa_kernel_is_closed(void);

/* In the child of a fork(), which has none of the other threads. */
CPA_HIDDEN void cpa_kernel_forked(void);

#endif
