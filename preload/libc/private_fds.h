/* SPDX-License-Identifier: MIT */
/*
 * preload/libc/private_fds.h - open files without occupying a descriptor of the program
 *
 * A program may occupy a number that it knows to be free, or close every descriptor that it does not
 * know. A file that the profiler holds open for a moment would collide with that, and the profiler
 * would then close the program's file. So a short-lived thread opens it, in a copy of the descriptor
 * table; the copy disappears with the thread.
 */
#ifndef CPA_PRELOAD_LIBC_PRIVATE_FDS_H
#define CPA_PRELOAD_LIBC_PRIVATE_FDS_H

#include <stdbool.h>

#include "shadow/store/session.h"

/*
 * Call @function(@argument) in a new thread of the process and wait for it. The thread shares all
 * memory, thread-local storage included; descriptors that it opens are its own; all signals are
 * blocked. @function may use 1 KiB of stack and no function that depends on the calling thread's
 * identity. False, with errno: the thread cannot be made. Costs some 40 us, and the copy of the
 * descriptor table that a fork makes.
 */
CPA_HIDDEN bool cpa_private_fds_call(void (*function)(void *), void *argument);

/* Atomic: copies of the descriptor table that there are. */
extern CPA_HIDDEN uint32_t cpa_private_fds_copies;

/* Wait until the copies that there are have gone. Async-signal-safe; errno is kept. */
CPA_HIDDEN void cpa_private_fds_await(void);

/* The program has closed a descriptor: to be called before it goes on. */
static inline void cpa_private_fds_closed(void)
{
	/* ACQUIRE: pairs with the increment before a copy is made. A system call lies before this. */
	if (unlikely(__atomic_load_n(&cpa_private_fds_copies, __ATOMIC_ACQUIRE)))
		cpa_private_fds_await();
}

/* In the child of a fork, which has no copy. */
CPA_HIDDEN void cpa_private_fds_forked(void);

#endif
