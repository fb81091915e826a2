/* SPDX-License-Identifier: MIT */
/*
 * shadow/store/kernel.h - cpa's own system calls, and the moment after which it makes none
 *
 * A program may install a seccomp filter for all its threads at once. A system call by cpa that the
 * program itself never makes could then kill it. Other threads may be anywhere in cpa's code at
 * that moment, also inside operations that began long before, such as a wait. Therefore each system
 * call that cpa makes while the program runs lies between cpa_kernel_begin() and cpa_kernel_end(),
 * and cpa_kernel_close() is called before a filter is installed:
 *
 * I1  Once cpa_kernel_close() has returned, no thread is between begin and end, and none enters.
 * I2  No wait is endless: cpa_kernel_close() waits at most some seconds for a thread that is held
 * up or was abandoned in a signal handler. Such a thread may still make the one call it was about
 * to make.
 *
 * Cost: two uncontended atomic additions, some 10 ns. Threads share 64 counters, each in a cache
 * line of its own. All functions are async-signal-safe.
 */
#ifndef CPA_SHADOW_STORE_KERNEL_H
#define CPA_SHADOW_STORE_KERNEL_H

#include <sys/syscall.h>

#include "shadow/store/session.h"

/*
 * Return whether cpa may make system calls until cpa_kernel_end(), which must be called if true.
 * Pairs may nest; the inner begin may return false where the outer one returned true. errno is
 * kept.
 */
CPA_HIDDEN bool cpa_kernel_begin(void);
CPA_HIDDEN void cpa_kernel_end(void);

/* Make system call @number, as syscall() does. After cpa_kernel_close(): -1 with errno ENOSYS. */
CPA_HIDDEN long cpa_kernel(long number, ...);

/* Forbid cpa's system calls from now on, in this process and in its forked children. */
CPA_HIDDEN void cpa_kernel_close(void);
CPA_HIDDEN bool cpa_kernel_is_closed(void);

/* Reset the counters in the child of a fork(), which has no other threads. */
CPA_HIDDEN void cpa_kernel_forked(void);

#endif
