/* SPDX-License-Identifier: MIT */
/*
 * preload/lib/queue.h - items of work queues, for annotations (cpa.h) and for the queues of known
 * libraries
 *
 * Each call is one event of the calling thread; it enters and leaves our code by itself, preserves
 * errno, and does nothing where the process or the thread is not profiled. Safe in any context
 * that a wrapper is.
 */
#ifndef CPA_PRELOAD_LIB_QUEUE_H
#define CPA_PRELOAD_LIB_QUEUE_H

#include "preload/core/guard.h"

/*
 * The row of the queue at @queue, inside our code; 0: no space, or a NULL queue. @name and @caller:
 * as below.
 */
CPA_HIDDEN uint32_t cpa_queue_of(struct cpa_worker *w, const void *queue, const char *name,
				 uint64_t caller);

/* Put the queue at address @queue in class @name. @caller: return address in the program. */
CPA_HIDDEN void cpa_queue_name(const void *queue, const char *name, uint64_t caller);

/*
 * @queue: its address. @name: of the queue's class if it has no name yet; NULL: the class is its
 * variable, or the first caller. @caller: the return address in the program.
 */
CPA_HIDDEN void cpa_item_enqueue(const void *queue, uint64_t item, const char *name,
				 uint64_t caller);

/* The queue refused the item of the thread's last cpa_item_enqueue(): take it out again. */
CPA_HIDDEN void cpa_item_refused(const void *queue, uint64_t item, uint64_t caller);

CPA_HIDDEN void cpa_item_dequeue(const void *queue, uint64_t item, const char *name,
				 uint64_t caller);
CPA_HIDDEN void cpa_item_done(const void *queue, uint64_t item, uint64_t caller);

/*
 * Between these calls the thread is in a queue's own code. Its acquisitions there make edges in the
 * observed path only, not in the inherent one. The calls nest, and make no events. They do nothing
 * in a thread without a worker.
 */
CPA_HIDDEN void cpa_inner_begin(void);
CPA_HIDDEN void cpa_inner_end(void);

#endif
