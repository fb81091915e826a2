/* SPDX-License-Identifier: MIT */
#include "shadow/edge/fifo.h"

#include "shadow/store/table.h"

/*
 * Tries before a thread gives up. Each failed try is another thread's success. Only in a child of
 * fork() that continues with a half-written copy of other threads' data (preload/core/alive.h) may
 * the queue have no end.
 */
#define PATIENCE 100000u

static uint32_t row_of(uint64_t link)
{
	return (uint32_t)link;
}

/* Return the next value of @link, with the tag increased, naming @row. */
static uint64_t relink(uint64_t link, uint32_t row)
{
	return ((link >> 32) + 1) << 32 | row;
}

static uint64_t load(uint64_t *word)
{
	/* ACQUIRE: the linked row was complete. Pairs with swap(). */
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static bool swap(uint64_t *word, uint64_t old, uint64_t new)
{
	/* RELEASE: node and token are complete before they can be reached. Pairs with load(). */
	return __atomic_compare_exchange_n(word, &old, new, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

static uint32_t node_new(struct cpa_self *self, uint32_t payload)
{
	uint32_t row = cpa_token_new(self, NULL);

	if (row) {
		/* The tag survives reuse of the row, so that a stale swap() of the link fails. */
		__atomic_store_n(&cpa_token(row)->next, relink(load(&cpa_token(row)->next), 0),
				 __ATOMIC_RELAXED);
		/*
		 * Relaxed: reached through the link that swap() publishes; also read by losers of a
		 * race.
		 */
		__atomic_store_n(&cpa_token(row)->payload, payload, __ATOMIC_RELAXED);
	}
	return row;
}

/* Make sure that the queue has its dummy node; the first caller adds it. Return false: no space. */
static bool ready(struct cpa_self *self, struct cpa_object *o)
{
	uint64_t head = load(&o->head);

	if (likely(head && load(&o->tail)))
		return true;
	if (!head) {
		uint32_t dummy = node_new(self, 0);

		if (!dummy)
			return false;
		if (!swap(&o->head, 0, relink(0, dummy)))
			cpa_token_free(self, dummy);
	}
	/* While tail is 0 nothing was put, so head is still the dummy. */
	head = load(&o->head);
	if (!load(&o->tail))
		swap(&o->tail, 0, head);
	return true;
}

/* Link @node, which names the token, behind the last node. Return false if all tries failed. */
static bool append(struct cpa_object *o, uint32_t node)
{
	uint64_t tail, next;

	for (unsigned i = 0; i < PATIENCE; i++) {
		tail = load(&o->tail);
		next = load(&cpa_token(row_of(tail))->next);
		if (tail != load(&o->tail))
			continue;
		if (row_of(next)) { /* the tail lags behind: advance it */
			swap(&o->tail, tail, relink(tail, row_of(next)));
		} else if (swap(&cpa_token(row_of(tail))->next, next, relink(next, node))) {
			swap(&o->tail, tail, relink(tail, node));
			return true;
		}
	}
	return false;
}

bool cpa_fifo_put(struct cpa_self *self, struct cpa_object *o, uint32_t row)
{
	uint32_t node = ready(self, o) ? node_new(self, row) : 0;

	if (node && append(o, node))
		return true;
	if (node)
		cpa_token_free(self, node);
	cpa_token_free(self, row);
	return false;
}

uint32_t cpa_fifo_take(struct cpa_self *self, struct cpa_object *o)
{
	uint64_t head, tail, next, payload;

	if (!load(&o->head) || !load(&o->tail))
		return 0;
	for (unsigned i = 0; i < PATIENCE; i++) {
		head = load(&o->head);
		tail = load(&o->tail);
		next = load(&cpa_token(row_of(head))->next);
		if (head != load(&o->head))
			continue;
		if (!row_of(next))
			return 0;
		if (row_of(head) == row_of(tail)) {
			swap(&o->tail, tail, relink(tail, row_of(next)));
			continue;
		}
		/* Relaxed: next was acquired; a stale value is dropped when swap() fails. */
		payload = __atomic_load_n(&cpa_token(row_of(next))->payload, __ATOMIC_RELAXED);
		if (swap(&o->head, head, relink(head, row_of(next)))) {
			cpa_token_free(self, row_of(head));
			return (uint32_t)payload;
		}
	}
	return 0;
}

uint32_t cpa_fifo_most(void)
{
	/* Relaxed: a bound; tokens put meanwhile need not be counted. */
	return __atomic_load_n(&cpa_table(CPA_TABLE_TOKENS)->used, __ATOMIC_RELAXED);
}

void cpa_fifo_clear(struct cpa_self *self, struct cpa_object *o)
{
	uint32_t most = cpa_fifo_most(), row;

	while (most-- && (row = cpa_fifo_take(self, o)))
		cpa_token_free(self, row);
}

void cpa_fifo_drain(struct cpa_self *self, struct cpa_object *o)
{
	if (!o->head)
		return;
	cpa_fifo_clear(self, o);
	cpa_token_free(self, row_of(o->head));
	o->head = 0;
	o->tail = 0;
}
