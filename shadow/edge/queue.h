/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/queue.h - work queues: the edges their items make, and their figures
 *
 * Enqueue of item x -> dequeue of x is an edge (Online CP 4.1, Fig. 11), whatever the order in
 * which items leave. The processing of an item, from its dequeue until it is done, is an activity
 * of the queue's component. Any thread may call; lock-free.
 *
 * As in shadow/edge/acquire.h: the thread's path was advanced to the event at clock @now before.
 */
#ifndef CPA_SHADOW_EDGE_QUEUE_H
#define CPA_SHADOW_EDGE_QUEUE_H

#include "shadow/edge/acquire.h"
#include "shadow/store/table.h"

static inline struct cpa_queue *cpa_queue(uint32_t row)
{
	return cpa_row(CPA_TABLE_QUEUES, row);
}

/* The bucket of the histogram that @ticks falls in, and the first value of a bucket. */
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

/* The row of the queue at @address, of class row @component if it is new. 0: no space, counted. */
CPA_HIDDEN uint32_t cpa_queue_intern(uint64_t address, uint32_t component);

/* The thread puts @item into queue @row: publish its path with it. Before the real operation. */
CPA_HIDDEN void cpa_queue_put(struct cpa_self *self, uint32_t row, uint64_t item, uint64_t now);

/* The real operation refused the item that the thread put last: it never was in the queue. */
CPA_HIDDEN void cpa_queue_unput(struct cpa_self *self, uint32_t row, uint64_t item);

/*
 * The thread got @item out of queue @row at @wait->now: join the path of its enqueue. Return the
 * ticks it was in the queue; @wait->matched tells if it had been enqueued.
 */
CPA_HIDDEN uint64_t cpa_queue_take(struct cpa_self *self, uint32_t row, uint64_t item,
				   struct cpa_wait *wait);

/*
 * The thread begins to process @item, which it took: the queue's component is active from now on.
 * Items of queues whose program never says when one is done end here.
 */
CPA_HIDDEN void cpa_queue_begin(struct cpa_self *self, uint32_t row, uint64_t item);

/* The program says that @item is done. Without a begin: counted. */
CPA_HIDDEN void cpa_queue_done(struct cpa_self *self, uint32_t row, uint64_t item);

/* The thread ends, and with it whatever it processed. */
CPA_HIDDEN void cpa_queue_leave(struct cpa_self *self);

/*
 * A part of the run begins at clock @now: forget what was put into queues before, as nobody knows
 * what of it was taken out since. Counted; these items wait no time in the queue.
 */
CPA_HIDDEN void cpa_queue_forget(struct cpa_self *self, uint64_t now);

#endif
