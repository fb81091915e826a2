/* SPDX-License-Identifier: MIT */
/*
 * preload/pool.h - workers of threads that ended, for threads to come
 *
 * A thread ends in the last round of its destructors, when jemalloc has put its own data of the
 * thread away: so the worker is kept, on liburcu's lock-free stack, and not given back.
 *
 * Thread-safe, and called inside our code alone.
 */
#ifndef CPA_PRELOAD_POOL_H
#define CPA_PRELOAD_POOL_H

#include "preload/worker.h"

/* A worker of zeros. NULL: no memory. */
CPA_HIDDEN struct cpa_worker *cpa_pool_take(void);

/* @w, taken, is not used any more. */
CPA_HIDDEN void cpa_pool_give(struct cpa_worker *w);

/* In a child of fork(), whose other threads are gone. */
CPA_HIDDEN void cpa_pool_forked(void);

#endif
