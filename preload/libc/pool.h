/* SPDX-License-Identifier: MIT */
/*
 * preload/libc/pool.h - recycled per-thread state
 *
 * Allocation is expensive, and one thread at a time allocates (preload/libc/memory.h). So memory is
 * never freed: a thread that ends puts its state on liburcu's lock-free stack, and a new thread
 * takes it. Each pool grows to the largest number that was in use at once.
 *
 * Thread-safe. Call inside instrumentation code only (cpa_tls.inside set).
 */
#ifndef CPA_PRELOAD_LIBC_POOL_H
#define CPA_PRELOAD_LIBC_POOL_H

#include <stddef.h>

#include "shadow/store/session.h"

enum cpa_pool {
	CPA_POOL_WORKERS,
	CPA_POOL_BEGINNINGS, /* see preload/sync/thread.c */
	CPA_POOL_OMP,	     /* see preload/omp/team.h */
	CPA_POOL_TEAMS,
	CPA_POOL_PARTS, /* of libomp */
	CPA_POOL_TASKS, /* this and the next two: see preload/omp/task.h */
	CPA_POOL_GROUPS,
	CPA_POOL_DEPENDENCES,
	CPA_POOL_CALLERS,    /* see preload/core/callers.h */
	CPA_POOL_ITERATIONS, /* see preload/omp/doacross.c */
	CPA_POOLS
};

/* @size bytes of zeros, aligned to a cache line. Each pool has one size. NULL: no memory. */
CPA_HIDDEN void *cpa_pool_take(enum cpa_pool pool, size_t size);

/*
 * The same, but what was used before has what it had when it was given. NULL also if another thread takes from
 * the pool, with *@busy set: there are never more blocks than were in use at once.
 */
CPA_HIDDEN void *cpa_pool_take_used(enum cpa_pool pool, size_t size, bool *busy);

/* Return @p, from one of these two, to @pool. */
CPA_HIDDEN void cpa_pool_give(enum cpa_pool pool, void *p);

/* In a child of fork(), where only the calling thread exists. */
CPA_HIDDEN void cpa_pool_forked(void);

#endif
