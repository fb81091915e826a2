/* SPDX-License-Identifier: MIT */
/*
 * preload/process/life.h - the beginning and end of the process
 */
#ifndef CPA_PRELOAD_PROCESS_LIFE_H
#define CPA_PRELOAD_PROCESS_LIFE_H

#include <pthread.h>

#include "preload/core/guard.h"

/*
 * Record thread row @row for @thread; 0: none. Inside instrumentation code, or while the process has
 * one thread.
 */
CPA_HIDDEN void cpa_thread_register(pthread_t thread, uint32_t row);

/* The calling thread ends the process, and the observed path. Later calls do nothing. */
CPA_HIDDEN void cpa_life_end(void);

/*
 * The process can write the session no more. If it is not the first process, it ends in the session.
 */
CPA_HIDDEN void cpa_life_leave(void);

/*
 * The process is about to call exec: its observed path ends here. Return whether
 * cpa_life_not_replaced() must be called if exec fails. Async-signal-safe.
 */
CPA_HIDDEN bool cpa_life_replaced(void);
CPA_HIDDEN void cpa_life_not_replaced(void);

/* The calling thread was given @name, of which the first 15 bytes count, by a call from @caller. */
CPA_HIDDEN void cpa_thread_named(const char *name, uint64_t caller);

#endif
