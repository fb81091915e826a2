/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/queue.h - work queues: the edges of their items, and their statistics
 *
 * The enqueue of item x and the dequeue of x form an edge (Online CP 4.1, Fig. 11), in whatever
 * order items leave. The processing of an item, from its dequeue until it is done, is an activity
 * of the queue's component. Any thread may call; lock-free.
 *
 * The caller has advanced the thread's path to the event at clock @now (ticks).
 */
#ifndef CPA_SHADOW_EDGE_QUEUE_H
#define CPA_SHADOW_EDGE_QUEUE_H

#include "shadow/edge/acquire.h"
#include "shadow/store/table.h"

static inline struct cpa_queue *cpa_queue(uint32_t row)
{
	return cpa_row(CPA_TABLE_QUEUES, row);
}

/*
 * cpa_histogram_bucket(): the histogram bucket of @ticks. cpa_histogram_start(): the smallest value
 * of a bucket, ticks.
 */
static inline uint32_t cpa_histogram_bucket(uint64_t ticks)
{
	uint32_t top;

	if (ticks < 4)
		return (uint32_t)ticks;
	top = 63 - (uint32_t)__builtin_clzll(ticks);
	top = (top - 1) * 4 + (uint32_t)(ticks >> (top - 2) & 3);
	return top < CPA_HISTOGRAM ? top : CPA_HISTOGRAM - 1;
}

static inline uint64_t cpa_histogram_start(uint32_t bucket)
{
	if (bucket < 4)
		return bucket;
	return (uint64_t)(4 + bucket % 4) << (bucket / 4 - 1);
}

/*
 * Count @ticks in the shared @histogram. Before a bucket overflows all are halved: their proportions
 * stay, to within one in 2^31, and later values count twice as much as earlier ones. Counts added
 * meanwhile by other threads may be lost, a few out of very many.
 */
CPA_HIDDEN void cpa_histogram_count(uint32_t *histogram, uint64_t ticks);

/*
 * Return the row of the queue at @address; a new one gets class row @component. 0: no space
 * (counted).
 */
CPA_HIDDEN uint32_t cpa_queue_intern(uint64_t address, uint32_t component);

/*
 * The thread puts @item into queue @row: publish its path for the item. Called before the real
 * operation.
 */
CPA_HIDDEN void cpa_queue_put(struct cpa_self *self, uint32_t row, uint64_t item, uint64_t now);

/* The real operation refused the item that this thread put last: take it back. */
CPA_HIDDEN void cpa_queue_unput(struct cpa_self *self, uint32_t row, uint64_t item);

/*
 * The thread took @item out of queue @row at @wait->now: join the path of its enqueue. Return the
 * ticks that the item was in the queue; @wait->matched: the enqueue was found.
 */
CPA_HIDDEN uint64_t cpa_queue_take(struct cpa_self *self, uint32_t row, uint64_t item,
				   struct cpa_wait *wait);

/*
 * The thread begins to process @item, which it took: the queue's component is active from now on.
 * Items that the thread already processes end here if their queue has no calls of CPA_ITEM_DONE.
 */
CPA_HIDDEN void cpa_queue_begin(struct cpa_self *self, uint32_t row, uint64_t item);

/* The program says that @item is done. Counted as unbalanced if it was not begun. */
CPA_HIDDEN void cpa_queue_done(struct cpa_self *self, uint32_t row, uint64_t item);

/* End all items that the thread processes; called at the thread's end. */
CPA_HIDDEN void cpa_queue_leave(struct cpa_self *self);

/*
 * A part of the run begins at clock @now: remove the items put before, because they may have been
 * taken out unseen since. Counted; these items add no time in the queue.
 */
CPA_HIDDEN void cpa_queue_forget(struct cpa_self *self, uint64_t now);

#endif
