/* SPDX-License-Identifier: MIT */
/* tests/torture/item.c - sixteen threads put items into work queues and take them out */
#define WORKERS 16

#include "shadow/edge/item.h"
#include "shadow/edge/queue.h"

#include "tests/torture/torture.h"

#define QUEUES	   4
#define CAPACITY   200 /* items per queue; more are refused, unless equal ones are in the queue */
#define DUPLICATES 6   /* items that may be in a queue several times */
#define SAME	   12
#define ROOM	   (CAPACITY + DUPLICATES * SAME)
#define LENGTH	   100 /* length of a path beyond its serial number, ticks */

/* The program's own queue: it defines which items are handed over, in which order. */
struct real {
	pthread_mutex_t lock;
	unsigned count;
	struct entry {
		uint64_t item;
		uint64_t serial;
	} entry[ROOM];
	unsigned same[DUPLICATES];
	/* Items to be reused at once; other items are new. */
	unsigned free_count;
	uint64_t free_item[ROOM + WORKERS], next_item;
	uint32_t row;
};

static struct real real[QUEUES];
static uint64_t target, serials;		/* atomic: numbers of items */
static uint64_t taken, refused;			/* atomic */
static uint64_t taken_serials, refused_serials; /* atomic: sums of serial numbers */
static uint8_t *seen;				/* by serial */
/* by serial: the item that was put, mixed with the queue */
static uint64_t *item_of;

/* By queue: first in first out, last in first out, any, any. */
static unsigned choose(struct worker *w, unsigned queue, unsigned count)
{
	return queue == 0 ? 0 : queue == 1 ? count - 1 : (unsigned)rnd_below(&w->r, count);
}

static bool pop(struct worker *w, unsigned queue, struct entry *to)
{
	struct real *q = &real[queue];
	bool any;

	pthread_mutex_lock(&q->lock);
	any = q->count > 0;
	if (any) {
		unsigned i = choose(w, queue, q->count);

		*to = q->entry[i];
		memmove(&q->entry[i], &q->entry[i + 1], (--q->count - i) * sizeof(*to));
		if (to->item < DUPLICATES)
			q->same[to->item]--;
	}
	pthread_mutex_unlock(&q->lock);
	return any;
}

/* An item to put: sometimes one that is in the queue already, otherwise one that is not. */
static uint64_t new_item(struct worker *w, struct real *q)
{
	uint64_t item = rnd_below(&w->r, DUPLICATES);

	pthread_mutex_lock(&q->lock);
	if (rnd_percent(&w->r, 10) && q->same[item] < SAME)
		q->same[item]++;
	else
		item = q->free_count ? q->free_item[--q->free_count] : q->next_item++;
	pthread_mutex_unlock(&q->lock);
	return item;
}

static void free_item(struct real *q, uint64_t item)
{
	if (item < DUPLICATES)
		return;
	pthread_mutex_lock(&q->lock);
	q->free_item[q->free_count++] = item;
	pthread_mutex_unlock(&q->lock);
}

/*
 * Make the thread's path that of item @serial: its length encodes the number, and slot 2 + k < 2 +
 * serial % 20 has 1 tick.
 */
static void stand_at(struct worker *w, uint64_t serial)
{
	struct cpa_path *path = &w->self.row->path;

	cpa_path_clear(&w->self, path);
	path->owner = w->self.id;
	path->released = serial;
	path->node = (uint32_t)serial;
	path->len = serial + LENGTH;
	for (uint32_t k = 0; k < serial % 20; k++)
		cpa_path_add(&w->self, path, 2 + k, 1);
}

static void put(struct worker *w, unsigned queue)
{
	struct real *q = &real[queue];
	uint64_t item = new_item(w, q);
	uint64_t serial = __atomic_add_fetch(&serials, 1, __ATOMIC_RELAXED);

	stand_at(w, serial);
	__atomic_store_n(&item_of[serial], item * QUEUES + queue, __ATOMIC_RELAXED);
	cpa_queue_put(&w->self, q->row, item, serial);
	pthread_mutex_lock(&q->lock);
	if (q->count < CAPACITY || item < DUPLICATES) {
		q->entry[q->count++] = (struct entry){ item, serial };
		pthread_mutex_unlock(&q->lock);
		return;
	}
	pthread_mutex_unlock(&q->lock);
	cpa_queue_unput(&w->self, q->row, item);
	EXPECT(!__atomic_exchange_n(&seen[serial], 1, __ATOMIC_RELAXED));
	__atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&refused_serials, serial, __ATOMIC_RELAXED);

	free_item(q, item);
}

/* A take of @entry must return the complete path of such an item, for the first time. */
static void check(struct worker *w, unsigned queue, const struct entry *entry, uint32_t serial)
{
	const struct cpa_path *path = &w->self.row->path;

	__atomic_fetch_add(&taken_serials, serial, __ATOMIC_RELAXED);
	EXPECT(serial && serial <= target + WORKERS);

	EXPECT(!__atomic_exchange_n(&seen[serial], 1, __ATOMIC_RELAXED));
	EXPECT(__atomic_load_n(&item_of[serial], __ATOMIC_RELAXED) == entry->item * QUEUES + queue);
	EXPECT(entry->item < DUPLICATES || serial == entry->serial);
	if (path->len == 0) /* the thread's own item */
		return;
	EXPECT(path->len == serial + LENGTH);
	for (uint32_t k = 0; k < 20; k++)
		EXPECT(cpa_path_value(path, CPA_H, 2 + k) == (k < serial % 20));
}

static void take(struct worker *w, unsigned queue)
{
	struct cpa_wait wait = { .now = UINT32_MAX, .arrived = UINT32_MAX };
	struct entry entry;

	if (!pop(w, queue, &entry))
		return;
	cpa_path_clear(&w->self, &w->self.row->path);
	cpa_queue_take(&w->self, real[queue].row, entry.item, &wait);
	EXPECT(wait.matched);
	if (wait.matched)
		check(w, queue, &entry, wait.from);
	cpa_queue_begin(&w->self, real[queue].row, entry.item);
	if (queue == 0)
		cpa_queue_done(&w->self, real[queue].row, entry.item);
	free_item(&real[queue], entry.item);
	__atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
}

static void put_and_take(struct worker *w)
{
	while (__atomic_load_n(&serials, __ATOMIC_RELAXED) < target) {
		unsigned queue = (unsigned)rnd_below(&w->r, QUEUES);

		/*
		 * Half of the threads mostly produce. The queues are mostly full, or mostly empty.
		 */
		if (rnd_percent(&w->r, w->index < WORKERS / 2 ? 80 : queue < 2 ? 15 : 25))
			put(w, queue);
		else
			take(w, queue);
	}
}

static void begin_queues(void)
{
	memset(real, 0, sizeof(real));
	serials = taken = refused = taken_serials = refused_serials = 0;
	for (unsigned i = 0; i < QUEUES; i++) {
		struct cpa_component_name name = { .kind = CPA_QUEUE, .address = 1 + i };

		pthread_mutex_init(&real[i].lock, NULL);
		real[i].next_item = DUPLICATES;
		real[i].row = cpa_queue_intern(0x1000 + i, cpa_component_intern(&name));
	}
	seen = calloc(target + WORKERS + 1, sizeof(*seen));
	item_of = calloc(target + WORKERS + 1, sizeof(*item_of));
}

/* Return the number of items left in the queues; the shadow must have the same number. */
static uint64_t drain(void)
{
	uint64_t left = 0;

	for (unsigned i = 0; i < QUEUES; i++) {
		for (unsigned k = 0; k < real[i].count; k++, left++) {
			uint32_t token =
				cpa_item_take(&main_self, real[i].row, real[i].entry[k].item);

			EXPECT(token && !seen[cpa_token(token)->path.node]++);
			if (token)
				cpa_token_free(&main_self, token);
		}
		EXPECT(cpa_queue(real[i].row)->depth == real[i].count);
	}
	EXPECT(cpa_header()->items == 0);
	return left;
}

static void check_figures(uint64_t left)
{
	struct cpa_queue sum = { 0 };
	uint64_t entered = 0, waited = 0;

	for (unsigned i = 0; i < QUEUES; i++) {
		const struct cpa_queue *q = cpa_queue(real[i].row);

		sum.enqueued += q->enqueued;
		sum.dequeued += q->dequeued;
		sum.services += q->services;
		sum.twice += q->twice;
		for (unsigned k = 0; k < CPA_HISTOGRAM; k++)
			sum.waited += q->histogram[k];
		/* Besides the items in the queue one per thread may be in flight. */
		EXPECT(q->max_depth <= ROOM + WORKERS);
		EXPECT(q->unmatched == 0);
		entered += q->entered;
		waited += q->waited;
		EXPECT(q->left == q->dequeued * UINT32_MAX);
	}
	EXPECT(sum.enqueued == serials - refused);
	EXPECT(sum.dequeued == taken && sum.services == taken && sum.waited == taken);
	EXPECT(taken + left + refused == serials);
	/* A serial number is also a clock. */
	EXPECT(entered == serials * (serials + 1) / 2 - refused_serials);
	EXPECT(waited == taken * UINT32_MAX - taken_serials);

	EXPECT(sum.twice > 0 && sum.twice == cpa_header()->diag[CPA_DIAG_ITEMS_TWICE]);
	EXPECT(cpa_header()->diag[CPA_DIAG_ITEMS_REFUSED] == 0);
	EXPECT(cpa_header()->diag[CPA_DIAG_ITEMS_UNMATCHED] == 0);
	EXPECT(cpa_header()->diag[CPA_DIAG_ITEMS_UNBALANCED] == 0);
	for (uint64_t i = 1; i <= serials; i++)
		EXPECT(seen[i] == 1);
}

static void run_queues(void)
{
	target = torture_work(500000);
	begin_queues();
	torture_threads(WORKERS, put_and_take);
	check_figures(drain());
	/* One token per item in a queue, plus those that each thread may keep; some index. */
	EXPECT(cpa_table(CPA_TABLE_TOKENS)->used <= QUEUES * ROOM + WORKERS * 41);
	EXPECT(cpa_header()->used < UINT64_C(16) << 20);
	torture_given_back();
	printf("# %llu items, %llu taken, %llu refused; %u tokens, %llu KiB\n",
	       (unsigned long long)serials, (unsigned long long)taken, (unsigned long long)refused,
	       cpa_table(CPA_TABLE_TOKENS)->used, (unsigned long long)cpa_header()->used >> 10);
	free(seen);
	free(item_of);
}

/* Equal items, all at once: as many takes succeed as puts, and each token has one taker. */
static void same_item(struct worker *w)
{
	unsigned n = torture_work(120000);

	for (unsigned i = 0; i < n; i++) {
		struct cpa_path *path = &w->self.row->path;
		uint32_t token;

		path->released = i;
		EXPECT(cpa_item_put(&w->self, 1, 7, path) != CPA_ITEM_REFUSED);
		token = cpa_item_take(&w->self, 1, 7);
		EXPECT(token != 0);
		if (!token)
			return;
		/* Field of the fifo, unused here: a second taker would find it set. */
		EXPECT(!__atomic_exchange_n(&cpa_token(token)->next, 1, __ATOMIC_RELAXED));
		__atomic_store_n(&cpa_token(token)->next, 0, __ATOMIC_RELAXED);
		cpa_token_free(&w->self, token);
	}
}

static void run_same(void)
{
	torture_threads(WORKERS, same_item);
	EXPECT(cpa_header()->items == 0);
	EXPECT(cpa_table(CPA_TABLE_TOKENS)->used <= WORKERS * 41);
	torture_given_back();
}

/* Many distinct items: the levels of the index are created in the race, each once. */
#define MANY 3000u

static void many_items(struct worker *w)
{
	for (unsigned i = 0; i < MANY; i++) {
		w->self.row->path.len = i + 1;
		EXPECT(cpa_item_put(&w->self, w->index + 1, i * 64, &w->self.row->path) ==
		       CPA_ITEM_NEW);
	}
	for (unsigned i = 0; i < MANY; i++) {
		uint32_t token = cpa_item_take(&w->self, w->index + 1, i * 64);

		EXPECT(token && cpa_token(token)->path.len == i + 1);
		if (token)
			cpa_token_free(&w->self, token);
	}
}

static void run_many(void)
{
	torture_threads(WORKERS, many_items);
	EXPECT(cpa_header()->items == 0);
	EXPECT(cpa_header()->used <
	       UINT64_C(4) * WORKERS * MANY * sizeof(struct cpa_token) + (UINT64_C(8) << 20));
	torture_given_back();
}

int main(void)
{
	uint64_t seed = rnd_seed();

	printf("# seed %llu\n", (unsigned long long)seed);
	torture("every item's path arrives once, with its item", seed, run_queues);
	torture("equal items", seed, run_same);
	torture("the index grows while others use it", seed, run_many);
	return torture_end();
}
