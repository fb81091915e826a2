/* SPDX-License-Identifier: MIT */
/*
 * preload/core/name.h - the names that the program gives to its threads
 *
 * A name goes into the thread's row. While profiling is off a thread may have no row yet, and perhaps never will:
 * then the name waits in its thread-local storage until it enters a part of the run. Names are for people: if two
 * threads name one at the same time, it may get parts of both.
 */
#ifndef CPA_PRELOAD_CORE_NAME_H
#define CPA_PRELOAD_CORE_NAME_H

#include <pthread.h>

#include "preload/core/worker.h"

/* Give thread row @number the name @name, which makes @role (shadow/graph/role.h). 0: no row. */
CPA_HIDDEN void cpa_name_set(uint32_t number, const char *name, uint32_t role);

/*
 * As cpa_name_set(), once @thread enters a part. It is the caller's, or one that the program has just named: so it
 * lives. Async-signal-safe.
 */
CPA_HIDDEN void cpa_name_later(pthread_t thread, const char *name);

/* @thread has got a name by cpa_name_set(): an earlier one waits no longer. Otherwise as cpa_name_later(). */
CPA_HIDDEN void cpa_name_now(pthread_t thread);

/* The calling thread enters a part: give it the name that waits for it. Called in instrumentation code. */
CPA_HIDDEN void cpa_name_take(struct cpa_worker *w);

#endif
