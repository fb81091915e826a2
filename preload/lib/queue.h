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

#include "preload/core/worker.h"

/*
 * The row of the queue at @queue, inside our code; 0: no space, or a NULL queue. @name and @caller:
 * as below.
 */
CPA_HIDDEN uint32_t cpa_queue_of(struct cpa_worker *w, const void *queue, const char *name,
				 uint64_t caller);

/* The queue is of the class @name from now on. */
CPA_HIDDEN void cpa_queue_name(const void *queue, const char *name, uint64_t caller);

/*
 * @queue: its address. @name: of the queue's class if it has no name yet; NULL: the class is its
 * variable, or the first caller. @caller: the return address in the program.
 */
CPA_HIDDEN void cpa_item_enqueue(const void *queue, uint64_t item, const char *name,
				 uint64_t caller);

/* The item of the last cpa_item_enqueue() was refused by the queue: it is not in it. */
CPA_HIDDEN void cpa_item_refused(const void *queue, uint64_t item, uint64_t caller);

CPA_HIDDEN void cpa_item_dequeue(const void *queue, uint64_t item, const char *name,
				 uint64_t caller);
CPA_HIDDEN void cpa_item_done(const void *queue, uint64_t item, uint64_t caller);

/*
 * Between these the thread is in a queue's own code: what it acquires there makes no edges in the
 * inherent path, only in the observed one. They nest; they are no events. A NULL worker is nobody.
 */
CPA_HIDDEN void cpa_inner_begin(void);
CPA_HIDDEN void cpa_inner_end(void);

#endif
