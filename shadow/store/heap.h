/* SPDX-License-Identifier: MIT */
/*
 * shadow/store/heap.h - memory of many sizes inside the session: versions, totals, workers
 *
 * All processes of a session share it: what one has allocated another may free. So it is no general
 * allocator, whose state is a process's own: free blocks lie on one pile for each size, four sizes
 * for each power of two. Blocks are not split or merged; they are as many as were in use at once.
 * Nothing is lost but what a process had that was killed. Lock-free, async-signal-safe.
 */
#ifndef CPA_SHADOW_STORE_HEAP_H
#define CPA_SHADOW_STORE_HEAP_H

#include "shadow/store/session.h"

/* @size bytes at a cache line, or NULL. cpa_heap_alloc(): zeroed. */
CPA_HIDDEN void *cpa_heap_take(size_t size);
CPA_HIDDEN void *cpa_heap_alloc(size_t size);
CPA_HIDDEN void cpa_heap_free(void *p);

/* Bytes of blocks in use; while nobody allocates or frees (tests). */
CPA_HIDDEN uint64_t cpa_heap_live(void);

#endif
