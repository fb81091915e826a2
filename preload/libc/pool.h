/* SPDX-License-Identifier: MIT */
/*
 * preload/libc/pool.h - what threads that ended had, for threads to come
 *
 * New memory is dear to make, and one thread at a time makes it (preload/libc/memory.h): so nothing is
 * given back. What a thread had is kept on liburcu's lock-free stack; there is as much of a kind as
 * was in use at once.
 *
 * Thread-safe, and called inside our code alone.
 */
#ifndef CPA_PRELOAD_LIBC_POOL_H
#define CPA_PRELOAD_LIBC_POOL_H

#include <stddef.h>

#include "shadow/store/session.h"

enum cpa_pool {
	CPA_POOL_WORKERS,
	CPA_POOL_BEGINNINGS, /* see preload/sync/thread.c */
	CPA_POOLS
};

/* @size zeros, the same for all of a pool, aligned to cache lines. NULL: no memory. */
CPA_HIDDEN void *cpa_pool_take(enum cpa_pool pool, size_t size);

/* @p, taken from there, is not used any more. */
CPA_HIDDEN void cpa_pool_give(enum cpa_pool pool, void *p);

/* In a child of fork(), whose other threads are gone. */
CPA_HIDDEN void cpa_pool_forked(void);

#endif
