/* SPDX-License-Identifier: MIT */
/*
 * preload/process/attach.h - the beginning and end of a thread: it gets a worker, and gives it back
 */
#ifndef CPA_PRELOAD_PROCESS_ATTACH_H
#define CPA_PRELOAD_PROCESS_ATTACH_H

#include <signal.h>

#include "preload/core/guard.h"

/* How a thread begins. */
struct cpa_thread_start {
	uint32_t row; /* claimed for it; 0: claim one */
	uint32_t component;
	const struct cpa_path *from; /* its creator's path; NULL: none */
	uint64_t created;	     /* tick at which it was created; 0: not known */
	const sigset_t *mask;	     /* the program's, while cpa holds signals; NULL: it does not */
};

/*
 * Profile the calling thread. Inside instrumentation code. @wait->now: the tick at which it began; 0: now.
 * Returns NULL without memory; the thread then runs unprofiled.
 */
CPA_HIDDEN struct cpa_worker *cpa_worker_begin(const struct cpa_thread_start *start,
					       struct cpa_wait *wait);

/*
 * The start routine of the calling thread has returned or was unwound; destructors of thread-local
 * data have not run yet. Outside instrumentation code.
 */
CPA_HIDDEN void cpa_thread_returned(void);

/*
 * Destructor of our thread-specific key: @argument is the worker. It is called in each round of destructors; the
 * thread ends in the last.
 */
CPA_HIDDEN void cpa_thread_ends(void *argument);

#endif
