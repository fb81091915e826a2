/* SPDX-License-Identifier: MIT */
#include "shadow/edge/queue.h"

#include <string.h>

#include "shadow/graph/activity.h"
#include "shadow/graph/component.h"
#include "shadow/store/epoch.h"
#include "shadow/edge/item.h"
#include "shadow/journal/journal.h"
#include "shadow/path/path.h"

/* Tell the journal that its next record concerns @item. */
static void note(struct cpa_self *self, uint32_t row, uint64_t item)
{
	if (unlikely(self->journal))
		cpa_journal_item(self, row, item);
}

static void add(uint64_t *to, uint64_t n)
{
	/* Relaxed, as all counters here: sums on which no data depends. */
	__atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

static void fill(void *row, const void *argument)
{
	((struct cpa_queue *)row)->component = *(const uint32_t *)argument;
}

uint32_t cpa_queue_intern(uint64_t address, uint32_t component)
{
	uint32_t row = cpa_table_intern(CPA_TABLE_QUEUES, address, fill, &component);

	if (!row)
		cpa_diag(CPA_DIAG_OBJECTS_REFUSED);
	return row;
}

/* Add the thread to the bitmap @role. */
static void take_part(const struct cpa_self *self, uint64_t role[])
{
	uint64_t *word = &role[self->number / 64 % CPA_ROLE_WORDS];
	uint64_t bit = UINT64_C(1) << self->number % 64;

	/* Relaxed: a statistic. No store if the bit is set, so that the cache line stays shared. */
	if (unlikely(!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit)))
		__atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
}

/*
 * Return @ticks since the start of the session, so that sums do not overflow. Within a part
 * differences are exact.
 */
static uint64_t clock(uint64_t ticks)
{
	return ticks - cpa_header()->start_ticks;
}

void cpa_queue_put(struct cpa_self *self, uint32_t row, uint64_t item, uint64_t now)
{
	struct cpa_queue *q = cpa_queue(row);
	enum cpa_item_put put;

	take_part(self, q->producers);
	add(&q->enqueued, 1);
	/*
	 * Before the item can be taken, so that the depth is never less than the number of items.
	 */
	add(&q->depth, 1);
	add(&q->entered, clock(now));
	note(self, row, item);
	cpa_journal_release(self, NULL, 0, 1);
	put = cpa_item_put(self, row, item, &self->row->path);
	if (unlikely(put == CPA_ITEM_REFUSED)) {
		add(&q->depth, -UINT64_C(1));
		add(&q->entered, -clock(now));
	} else if (unlikely(put == CPA_ITEM_TWICE)) {
		add(&q->twice, 1);
		cpa_diag(CPA_DIAG_ITEMS_TWICE);
	}
}

void cpa_queue_unput(struct cpa_self *self, uint32_t row, uint64_t item)
{
	struct cpa_queue *q = cpa_queue(row);
	uint32_t token = cpa_item_take_back(self, row, item);

	note(self, row, item);
	cpa_journal_release(self, NULL, CPA_RELEASE_NOTHING, 0);
	add(&q->enqueued, -UINT64_C(1));
	if (!token) /* the put had found no space */
		return;
	add(&q->depth, -UINT64_C(1));
	add(&q->entered, -clock(cpa_token(token)->path.released));
	cpa_token_free(self, token);
}

/* Decrement the depth; its maxima occur just before an item leaves, or at the end. */
static void shrink(struct cpa_queue *q)
{
	uint64_t depth = __atomic_fetch_sub(&q->depth, 1, __ATOMIC_RELAXED);
	uint64_t max = __atomic_load_n(&q->max_depth, __ATOMIC_RELAXED);

	while (depth > max && !__atomic_compare_exchange_n(&q->max_depth, &max, depth, true,
							   __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

void cpa_histogram_count(uint32_t *histogram, uint64_t ticks)
{
	/* Relaxed, also below: a statistic. */
	if (likely(__atomic_add_fetch(&histogram[cpa_histogram_bucket(ticks)], 1,
				      __ATOMIC_RELAXED) < UINT32_MAX / 2))
		return;
	for (uint32_t i = 0; i < CPA_HISTOGRAM; i++) {
		uint32_t half = __atomic_load_n(&histogram[i], __ATOMIC_RELAXED) / 2;

		__atomic_store_n(&histogram[i], half, __ATOMIC_RELAXED);
	}
}

uint64_t cpa_queue_take(struct cpa_self *self, uint32_t row, uint64_t item, struct cpa_wait *wait)
{
	struct cpa_queue *q = cpa_queue(row);
	uint32_t token = cpa_item_take(self, row, item);
	const struct cpa_path *path = token ? &cpa_token(token)->path : NULL;
	uint64_t ticks = 0;

	take_part(self, q->consumers);
	wait->observed_only = false; /* also inside the queue's own code */
	note(self, row, item);
	cpa_acquire_path(self, path, wait);
	if (!token) {
		add(&q->unmatched, 1);
		cpa_diag(CPA_DIAG_ITEMS_UNMATCHED);
		return 0;
	}
	wait->from = path->node; /* also for the thread's own items */
	if (likely(wait->now > path->released))
		ticks = wait->now - path->released;
	shrink(q);
	add(&q->dequeued, 1);
	add(&q->left, clock(path->released + ticks));
	add(&q->waited, ticks);
	cpa_histogram_count(q->histogram, ticks);
	cpa_token_free(self, token);
	return ticks;
}

static uint64_t spent(const struct cpa_self *self)
{
	return self->row->process + self->row->external;
}

/* Remove the item at index @i from those in work. */
static void drop(struct cpa_self *self, uint32_t i)
{
	cpa_unhold(self, self->item[i].class);
	self->items_in_work--;
	memmove(&self->item[i], &self->item[i + 1],
		(self->items_in_work - i) * sizeof(self->item[0]));
}

static void finish(struct cpa_self *self, uint32_t i)
{
	struct cpa_queue *q = cpa_queue(self->item[i].queue);

	add(&q->services, 1);
	add(&q->service, spent(self) - self->item[i].begun);
	drop(self, i);
}

static bool done_used(uint32_t row)
{
	/* Relaxed: a property of the program; until all threads see it an item may end early. */
	return __atomic_load_n(&cpa_queue(row)->done_used, __ATOMIC_RELAXED);
}

void cpa_queue_begin(struct cpa_self *self, uint32_t row, uint64_t item)
{
	uint32_t i;

	for (i = self->items_in_work; i-- > 0;)
		if (!done_used(self->item[i].queue))
			finish(self, i);
	if (unlikely(self->items_in_work == CPA_ITEMS_IN_WORK)) {
		cpa_diag(CPA_DIAG_ITEMS_UNBALANCED);
		drop(self, 0);
	}
	i = self->items_in_work++;
	self->item[i].queue = row;
	/* ACQUIRE: the component is complete. Pairs with the store that names the queue. */
	self->item[i].class = __atomic_load_n(&cpa_queue(row)->component, __ATOMIC_ACQUIRE);
	self->item[i].item = item;
	self->item[i].begun = spent(self);
	cpa_hold(self, self->item[i].class, cpa_component_slot(self->item[i].class));
}

void cpa_queue_done(struct cpa_self *self, uint32_t row, uint64_t item)
{
	note(self, row, item);
	cpa_journal_release(self, NULL, CPA_RELEASE_NOTHING, 0);
	if (unlikely(!done_used(row)))
		__atomic_store_n(&cpa_queue(row)->done_used, 1, __ATOMIC_RELAXED);
	for (uint32_t i = self->items_in_work; i-- > 0;) {
		if (self->item[i].queue == row && self->item[i].item == item) {
			finish(self, i);
			return;
		}
	}
	/* later on it may have been dequeued while profiling was off */
	if (cpa_header()->epoch <= CPA_EPOCH_ON)
		cpa_diag(CPA_DIAG_ITEMS_UNBALANCED);
}

void cpa_queue_leave(struct cpa_self *self)
{
	while (self->items_in_work)
		finish(self, self->items_in_work - 1);
}

static void forget(uint32_t row, const struct cpa_path *path)
{
	struct cpa_queue *q = cpa_queue(row);

	add(&q->depth, -UINT64_C(1));
	add(&q->entered, -clock(path->released));
	cpa_diag(CPA_DIAG_PART_ITEMS);
}

void cpa_queue_forget(struct cpa_self *self, uint64_t now)
{
	cpa_item_forget(self, now, forget);
}
