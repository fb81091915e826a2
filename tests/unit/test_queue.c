/* SPDX-License-Identifier: MIT */
/* tests/unit/test_queue.c - shadow/edge/queue.h: edges of items, statistics, items in work */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shadow/graph/activity.h"
#include "shadow/edge/item.h"
#include "shadow/edge/queue.h"

#include "tests/unit/shadow_threads.h"

#define START 1000 /* start clock of the session */

static uint32_t class[2], row[2];
static struct cpa_queue *q[2];

static int setup(void **state)
{
	int ret = threads_setup(state);

	if (ret)
		return ret;
	cpa_header()->start_ticks = START;
	for (uint32_t i = 0; i < 2; i++) {
		struct cpa_component_name name = { .kind = CPA_QUEUE, .address = 1 + i };

		class[i] = cpa_component_intern(&name);
		row[i] = cpa_queue_intern(0x1000 + i, class[i]);
		q[i] = cpa_queue(row[i]);
	}
	return 0;
}

static uint32_t slot(int i)
{
	return cpa_component_slot(class[i]);
}

static void put(int i, uint64_t item, uint64_t now, uint64_t len)
{
	cpa_queue_put(at(i, now, len), row[0], item, now);
}

static uint64_t take(int i, uint64_t item, uint64_t now, struct cpa_wait *w)
{
	*w = (struct cpa_wait){ .arrived = now, .now = now };
	t[i].row->path.released = now;
	return cpa_queue_take(&t[i], row[0], item, w);
}

/* Thread @i works for @ticks. */
static void work(int i, uint64_t ticks)
{
	struct cpa_span span = { .process = ticks };

	cpa_activity_end(&t[i], &span, 100);
}

static uint64_t bit(int i)
{
	return UINT64_C(1) << t[i].number;
}

static uint64_t diag(enum cpa_diagnostic what)
{
	return cpa_header()->diag[what];
}

/* Each take joins the path of the put of its item, in whatever order the items leave. */
static void test_item_makes_the_edge(void **state)
{
	struct cpa_wait w;

	(void)state;
	put(1, 11, START + 10, 30);
	put(2, 22, START + 20, 50);
	put(3, 33, START + 30, 40);
	assert_int_equal(take(4, 33, START + 100, &w), 70);
	assert_true(w.matched && w.followed);
	assert_int_equal(from(&w), 3);
	assert_int_equal(t[4].row->path.len, 40);
	assert_int_equal(take(5, 11, START + 110, &w), 100);
	assert_int_equal(t[5].row->path.len, 30);
	assert_int_equal(take(4, 22, START + 120, &w), 100);
	assert_int_equal(t[4].row->path.len, 50);
	assert_int_equal(t[4].row->path.released, START + 120);
}

/* The item joins also inside the queue's own code, where locks do not. */
static void test_inside_the_queue(void **state)
{
	struct cpa_wait w = { .arrived = START + 20, .now = START + 20, .observed_only = true };

	(void)state;
	put(1, 11, START + 10, 30);
	t[2].inner = 1;
	cpa_queue_take(&t[2], row[0], 11, &w);
	assert_int_equal(t[2].row->path.len, 30);
	assert_true(w.followed);
}

/* A thread's own item: no other path, but an edge in the summary. */
static void test_own_item(void **state)
{
	struct cpa_wait w;

	(void)state;
	put(1, 11, START + 10, 30);
	t[1].row->path.len = 35;
	assert_int_equal(take(1, 11, START + 40, &w), 30);
	assert_true(w.matched);
	assert_false(w.followed);
	assert_int_equal(from(&w), 1);
	assert_int_equal(t[1].row->path.len, 35);
}

static void test_figures(void **state)
{
	struct cpa_wait w;

	(void)state;
	for (uint64_t i = 1; i <= 4; i++)
		put((int)(i % 2), i, START + 10 * i, i);
	assert_int_equal(q[0]->depth, 4);
	take(3, 2, START + 120, &w);
	take(4, 1, START + 130, &w);
	put(1, 2, START + 200, 1);
	assert_int_equal(q[0]->depth, 3);
	assert_int_equal(q[0]->max_depth, 4);
	assert_int_equal(q[0]->enqueued, 5);
	assert_int_equal(q[0]->entered, 10 + 20 + 30 + 40 + 200);
	assert_int_equal(q[0]->dequeued, 2);
	assert_int_equal(q[0]->left, 120 + 130);
	assert_int_equal(q[0]->waited, 100 + 120);
	assert_int_equal(q[0]->histogram[cpa_histogram_bucket(100)], 1);
	assert_int_equal(q[0]->histogram[cpa_histogram_bucket(120)], 1);
	assert_int_equal(q[0]->producers[0], bit(0) | bit(1));
	assert_int_equal(q[0]->consumers[0], bit(3) | bit(4));
	assert_int_equal(q[0]->twice, 0);
	for (uint64_t i = 2; i <= 4; i++)
		take(3, i, START + 300, &w);
	assert_int_equal(q[0]->depth, 0);
	assert_int_equal(q[1]->enqueued, 0);
}

/* Rows beyond the size of the bitmaps wrap around. */
static void test_roles_wrap(void **state)
{
	struct cpa_wait w;

	(void)state;
	t[1].number = 64 * CPA_ROLE_WORDS + 65;
	put(1, 1, START + 1, 1);
	take(1, 1, START + 2, &w);
	assert_int_equal(q[0]->producers[1], 2);
	assert_int_equal(q[0]->consumers[1], 2);
	t[1].number = 2;
}

static void test_twice_and_unmatched(void **state)
{
	struct cpa_wait w;

	(void)state;
	put(1, 7, START + 10, 3);
	put(2, 7, START + 20, 5);
	assert_int_equal(q[0]->twice, 1);
	assert_int_equal(diag(CPA_DIAG_ITEMS_TWICE), 1);
	take(3, 7, START + 30, &w);
	assert_int_equal(from(&w), 1);
	take(3, 7, START + 40, &w);
	assert_int_equal(from(&w), 2);
	assert_int_equal(take(3, 7, START + 50, &w), 0);
	assert_false(w.matched || w.followed);
	assert_int_equal(w.from, 0);
	assert_int_equal(q[0]->unmatched, 1);
	assert_int_equal(diag(CPA_DIAG_ITEMS_UNMATCHED), 1);
	assert_int_equal(q[0]->dequeued, 2);
	assert_int_equal(q[0]->depth, 0);
	assert_int_equal(t[3].row->path.released, START + 50);
}

/* A full queue refuses the item: no trace is left, even if another thread put an equal one. */
static void test_unput(void **state)
{
	struct cpa_wait w;

	(void)state;
	put(1, 7, START + 10, 3);
	put(2, 7, START + 20, 5);
	cpa_queue_unput(&t[2], row[0], 7);
	assert_int_equal(q[0]->enqueued, 1);
	assert_int_equal(q[0]->entered, 10);
	assert_int_equal(q[0]->depth, 1);
	take(3, 7, START + 30, &w);
	assert_int_equal(from(&w), 1);
	/* The maximum depth does not include it. */
	assert_int_equal(q[0]->max_depth, 1);
}

/* An item without space in the session is not in the queue, for cpa. */
static void test_refused(void **state)
{
	struct cpa_wait w;

	(void)state;
	cpa_header()->items = CPA_ITEMS_MAX;
	put(1, 7, START + 10, 3);
	assert_int_equal(q[0]->enqueued, 1);
	assert_int_equal(q[0]->depth, 0);
	assert_int_equal(q[0]->entered, 0);
	assert_int_equal(diag(CPA_DIAG_ITEMS_REFUSED), 1);
	take(2, 7, START + 20, &w);
	assert_int_equal(q[0]->unmatched, 1);
	cpa_queue_unput(&t[1], row[0], 7);
	assert_int_equal(q[0]->enqueued, 0);
	assert_int_equal(q[0]->depth, 0);
	cpa_header()->items = 0;
}

/* The clocks of two processors may differ. */
static void test_clock_skew(void **state)
{
	struct cpa_wait w;

	(void)state;
	put(1, 7, START + 30, 3);
	assert_int_equal(take(2, 7, START + 25, &w), 0);
	assert_int_equal(q[0]->waited, 0);
	assert_int_equal(q[0]->left, q[0]->entered);
}

/* If the program never says "done", the next item ends the one before. */
static void test_service_until_the_next(void **state)
{
	(void)state;
	work(1, 5);
	cpa_queue_begin(&t[1], row[0], 11);
	work(1, 100);
	cpa_queue_begin(&t[1], row[1], 12);
	assert_int_equal(q[0]->services, 1);
	assert_int_equal(q[0]->service, 100);
	work(1, 10);
	cpa_queue_leave(&t[1]);
	assert_int_equal(q[1]->services, 1);
	assert_int_equal(q[1]->service, 10);
	assert_int_equal(t[1].row->held_count, 0);
	assert_int_equal(cpa_path_value(&t[1].row->path, CPA_H, slot(0)), 100);
	assert_int_equal(cpa_path_value(&t[1].row->path, CPA_H, slot(1)), 10);
	assert_int_equal(diag(CPA_DIAG_ITEMS_UNBALANCED), 0);
}

/* If the program says "done", items overlap and end in any order. */
static void test_service_until_done(void **state)
{
	(void)state;
	cpa_queue_begin(&t[1], row[0], 10);
	cpa_queue_done(&t[1], row[0], 10);
	assert_int_equal(q[0]->done_used, 1);
	cpa_queue_begin(&t[1], row[0], 11);
	work(1, 100);
	cpa_queue_begin(&t[1], row[0], 12);
	work(1, 10);
	cpa_queue_done(&t[1], row[0], 11);
	work(1, 1);
	cpa_queue_done(&t[1], row[0], 12);
	work(1, 1000);
	assert_int_equal(q[0]->services, 3);
	assert_int_equal(q[0]->service, 110 + 11);
	/* Two items at once are one activity of the queue. */
	assert_int_equal(cpa_path_value(&t[1].row->path, CPA_H, slot(0)), 111);
	cpa_queue_done(&t[1], row[0], 12);
	cpa_queue_done(&t[2], row[0], 12);
	assert_int_equal(diag(CPA_DIAG_ITEMS_UNBALANCED), 2);
	assert_int_equal(q[0]->services, 3);
}

/* More items at once than cpa tracks: the oldest is dropped, the others are right. */
static void test_too_many_in_work(void **state)
{
	(void)state;
	q[0]->done_used = 1;
	for (uint64_t i = 0; i < CPA_ITEMS_IN_WORK + 2; i++)
		cpa_queue_begin(&t[1], row[0], i);
	assert_int_equal(diag(CPA_DIAG_ITEMS_UNBALANCED), 2);
	work(1, 10);
	cpa_queue_done(&t[1], row[0], 0);
	assert_int_equal(diag(CPA_DIAG_ITEMS_UNBALANCED), 3);
	for (uint64_t i = 2; i < CPA_ITEMS_IN_WORK + 2; i++) {
		assert_int_equal(t[1].row->held_count, 1);
		cpa_queue_done(&t[1], row[0], i);
	}
	assert_int_equal(t[1].row->held_count, 0);
	assert_int_equal(q[0]->services, CPA_ITEMS_IN_WORK);
	assert_int_equal(q[0]->service, 10 * CPA_ITEMS_IN_WORK);
}

/* The queue gets another class while an item is in work: the class that was begun is ended. */
static void test_class_changes(void **state)
{
	(void)state;
	cpa_queue_begin(&t[1], row[0], 1);
	q[0]->component = class[1];
	cpa_queue_begin(&t[1], row[0], 2);
	assert_int_equal(t[1].row->held_count, 1);
	assert_int_equal(t[1].row->held_slot[0], slot(1));
	cpa_queue_leave(&t[1]);
	assert_int_equal(t[1].row->held_count, 0);
}

/* A thread that ends ends its items. */
static void test_thread_end(void **state)
{
	(void)state;
	cpa_queue_begin(&t[5], row[0], 1);
	work(5, 7);
	cpa_thread_end(&t[5], START + 10);
	assert_int_equal(q[0]->services, 1);
	assert_int_equal(q[0]->service, 7);
	assert_int_equal(t[5].items_in_work, 0);
}

/* One row per address; the class is that of the first call. */
static void test_intern(void **state)
{
	(void)state;
	assert_int_equal(cpa_queue_intern(0x1000, class[1]), row[0]);
	assert_int_equal(q[0]->component, class[0]);
	assert_int_not_equal(row[0], row[1]);
}

/* Buckets are contiguous, and at most a quarter wide. */
static void test_histogram(void **state)
{
	(void)state;
	for (uint32_t b = 0; b + 1 < CPA_HISTOGRAM; b++) {
		uint64_t first = cpa_histogram_start(b), next = cpa_histogram_start(b + 1);

		assert_true(next > first);
		assert_int_equal(cpa_histogram_bucket(first), b);
		assert_int_equal(cpa_histogram_bucket(next - 1), b);
		assert_true(b < 4 || (next - first) * 4 <= first);
	}
	assert_int_equal(cpa_histogram_bucket(UINT64_MAX), CPA_HISTOGRAM - 1);
}

/* The weight of a dependency when the path followed it is kept when its cache entry is evicted. */
static void test_followed_weight(void **state)
{
	struct cpa_wait w = { .from = 101, .followed = true };
	struct cpa_edge *edge;

	(void)state;
	t[1].row->node = 7;
	cpa_dependency(&t[1], &w, 20);
	w.followed = false;
	cpa_dependency(&t[1], &w, 5);
	cpa_thread_end(&t[1], START);
	edge = cpa_row(CPA_TABLE_EDGES,
		       cpa_table_find(CPA_TABLE_EDGES,
				      UINT64_C(1) << 63 | UINT64_C(101) << 32 | 7));
	assert_int_equal(edge->count, 2);
	assert_int_equal(edge->weight, 25);
	assert_int_equal(edge->followed, 1);
	assert_int_equal(edge->followed_weight, 20);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, threads_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_item_makes_the_edge),
		TEST(test_inside_the_queue),
		TEST(test_own_item),
		TEST(test_figures),
		TEST(test_roles_wrap),
		TEST(test_twice_and_unmatched),
		TEST(test_unput),
		TEST(test_refused),
		TEST(test_clock_skew),
		TEST(test_service_until_the_next),
		TEST(test_service_until_done),
		TEST(test_too_many_in_work),
		TEST(test_class_changes),
		TEST(test_thread_end),
		TEST(test_intern),
		TEST(test_histogram),
		TEST(test_followed_weight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
