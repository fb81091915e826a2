/* SPDX-License-Identifier: MIT */
/*
 * shadow/store/heap.h - memory blocks of any size in the session: versions, totals, workers
 *
 * All processes of a session share the heap: a block may be freed by another process than the one
 * that allocated it. A general allocator cannot do this, because its state is private to a process.
 * Free blocks lie on one stack for each size class; there are four classes per power of two. Blocks
 * are never split or merged, so each class keeps its maximum number of blocks in use. The only
 * leaks are blocks of processes that were killed. Lock-free, async-signal-safe.
 */
#ifndef CPA_SHADOW_STORE_HEAP_H
#define CPA_SHADOW_STORE_HEAP_H

#include "shadow/store/session.h"

/*
 * Allocate @size bytes, aligned to a cache line; NULL: no memory. cpa_heap_alloc() zeroes them,
 * cpa_heap_take() does not.
 */
CPA_HIDDEN void *cpa_heap_take(size_t size);
CPA_HIDDEN void *cpa_heap_alloc(size_t size);
CPA_HIDDEN void cpa_heap_free(void *p);

/* Return the bytes of all blocks in use. No other thread may allocate or free meanwhile (tests). */
CPA_HIDDEN uint64_t cpa_heap_live(void);

#endif
