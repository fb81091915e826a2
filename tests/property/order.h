/* SPDX-License-Identifier: MIT */
/*
 * tests/property/order.h - histories that a script describes completely: first come, first served
 *
 * A script contains what the threads do, but not which thread gets what. Its replay takes as long as
 * its history, to the tick, unless the history has one of these cases, which a journal does not show:
 *
 *	ties		two threads at the same lock, semaphore or barrier in the same tick
 *	overtaking	of two threads waiting for a lock or a semaphore the later one gets it first;
 *			or they wait for a rwlock, for which a script has glibc's rules, or for a mutex
 *			after a condition wait, where the begin of the wait for it is not known
 *	items		items of a queue taken in another order than they were put, or by two threads:
 *			in a script the next free thread takes the next item
 *	own		waits on a condition or futex that belongs to a queue: in a script for an item
 */
#ifndef CPA_TESTS_ORDER_H
#define CPA_TESTS_ORDER_H

#include "tests/property/history.h"

/* Return the object that @e acquires, or releases for others; -1: none. */
static inline int order_object(const struct history *h, const struct event *e)
{
	if (e->op <= OP_JOIN || e->object < 0)
		return -1;
	switch (h->object[e->object].kind) {
	case MUTEX:
	case RWLOCK:
	case SEM:
	case QUEUE:
		return e->object;
	case BARRIER:
		return e->op == OP_ARRIVE ? e->object : -1;
	case COND:
		return e->mutex;
	default:
		return -1;
	}
}

static inline bool order_takes(const struct event *e)
{
	return e->op == OP_LOCK || e->op == OP_READ_LOCK || e->op == OP_WRITE_LOCK ||
	       e->op == OP_WAIT || e->op == OP_SEM_WAIT || e->op == OP_DEQUEUE ||
	       e->op == OP_ARRIVE;
}

static inline bool order_depends(const struct history *h, const struct event *e, int on)
{
	for (int i = 0; i < e->count; i++)
		if (h->pred[e->first + i] == on)
			return true;
	return false;
}

/*
 * Return whether @a, event @number of another thread, precedes @b in the history at the same
 * object.
 */
static inline bool order_tie(const struct history *h, const struct event *a, int number,
			     const struct event *b)
{
	return (order_takes(a) || order_takes(b)) && !order_depends(h, b, number) &&
	       (a->now == b->now || a->now == b->arrived || a->arrived == b->arrived);
}

static inline bool order_overtakes(const struct history *h, const struct event *a,
				   const struct event *b)
{
	if (!order_takes(a) || !order_takes(b) || b->arrived >= a->now || b->now == b->arrived)
		return false;
	return a->arrived > b->arrived || a->op == OP_WAIT || b->op == OP_WAIT ||
	       (h->object[b->object].kind == RWLOCK && a->now > a->arrived);
}

/*
 * Return whether two threads get items of one queue, or one thread gets them in another order than
 * they were put.
 */
static inline bool order_deals(const struct history *h, const struct event *a,
			       const struct event *b)
{
	if (a->op != OP_DEQUEUE || b->op != OP_DEQUEUE || a->object != b->object)
		return false;
	return a->thread != b->thread ||
	       (a->count && b->count && h->pred[a->first] > h->pred[b->first]);
}

/* Return whether the history has none of the cases listed above. */
static inline bool order_is_clear(const struct history *h)
{
	for (int i = 0; i < h->events; i++) {
		const struct event *b = &h->event[i];
		int object = order_object(h, b);

		if ((b->op == OP_WAIT || b->op == OP_FUTEX_WAIT) && h->object[b->object].own)
			return false;
		for (int k = 0; k < i; k++) {
			const struct event *a = &h->event[k];

			if (order_deals(h, a, b))
				return false;
			if (a->thread == b->thread || object < 0 || order_object(h, a) != object)
				continue;
			if (order_tie(h, a, k, b) || order_overtakes(h, a, b))
				return false;
		}
	}
	return true;
}

#endif
