/* SPDX-License-Identifier: MIT */
/*
 * tests/property/order.h - histories of which a script says all: who comes first gets it
 *
 * A script has what threads do, and no word on who gets what. It takes as long as its history took,
 * to the tick, but where the history has one of these, which nothing in a journal tells apart:
 *
 *	ties		two threads at the same lock, semaphore or barrier in the same tick
 *	overtaking	of two threads that wait for a lock or a semaphore the later one gets it first;
 *			or they wait for a rwlock, of which a script has glibc's rules, or for a mutex
 *			after a condition, where it is not known since when
 *	items		of a queue that come in another order than they were put, or that two threads
 *			get: in a script who is free gets the next
 *	own		waits on a condition or futex that is a queue's own: in a script for an item
 */
#ifndef CPA_TESTS_ORDER_H
#define CPA_TESTS_ORDER_H

#include "tests/property/history.h"

/* What @e comes for or gives back, so that others may have it; -1: nothing of the kind. */
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
 * @a, event number @number, is before @b in the history, of another thread, and at the same object.
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

/* Two threads get items of one queue, or one thread in another order than they were put. */
static inline bool order_deals(const struct history *h, const struct event *a,
			       const struct event *b)
{
	if (a->op != OP_DEQUEUE || b->op != OP_DEQUEUE || a->object != b->object)
		return false;
	return a->thread != b->thread ||
	       (a->count && b->count && h->pred[a->first] > h->pred[b->first]);
}

/* Whether the history has none of what stands above. */
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
