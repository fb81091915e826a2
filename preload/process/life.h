/* SPDX-License-Identifier: MIT */
/*
 * preload/process/life.h - the beginning and end of the process and of its threads
 */
#ifndef CPA_PRELOAD_PROCESS_LIFE_H
#define CPA_PRELOAD_PROCESS_LIFE_H

#include <pthread.h>

#include "preload/core/worker.h"

/*
 * Make the calling thread a profiled one, inside our code. @row was claimed for it, or is 0.
 * @wait->now: the clock at which it began; 0: now. NULL: no memory; the thread then runs
 * unprofiled.
 */
CPA_HIDDEN struct cpa_worker *cpa_worker_begin(uint32_t row, uint32_t component,
					       const struct cpa_path *from, struct cpa_wait *wait);

/*
 * The start routine of the calling thread is over, by its return or by unwinding, and destructors of
 * what is thread-local are to run. Outside our code.
 */
CPA_HIDDEN void cpa_thread_returned(void);

/* Remember which row @thread has; 0: none. Inside our code, or where nothing else is. */
CPA_HIDDEN void cpa_thread_register(pthread_t thread, uint32_t row);

/* The process ends by the calling thread: the observed path ends here. Once. */
CPA_HIDDEN void cpa_life_end(void);

/*
 * The process, if it is not the first, ends as far as the session goes, which it can write no more.
 */
CPA_HIDDEN void cpa_life_leave(void);

/*
 * The process is about to become another program: its observed path ends here. Return whether
 * cpa_life_not_replaced() must be called if it does not. Async-signal-safe.
 */
CPA_HIDDEN bool cpa_life_replaced(void);
CPA_HIDDEN void cpa_life_not_replaced(void);

/* The calling thread was given @name, of which the first 15 bytes count. */
CPA_HIDDEN void cpa_thread_named(const char *name);

#endif
