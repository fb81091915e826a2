/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_wrap.c - counters of 32 bits that overflow in long runs
 *
 * Each starts near its maximum: later results must be as with unlimited counters, or coarser.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shadow/graph/activity.h"
#include "shadow/edge/fifo.h"
#include "shadow/edge/object.h"
#include "shadow/edge/part.h"
#include "shadow/edge/process.h"
#include "shadow/edge/queue.h"
#include "shadow/graph/run.h"
#include "shadow/graph/summary.h"

#include "tests/unit/shadow_threads.h"

#define WRAP (UINT64_C(1) << 32)

/* Begin a thread, in a row of its own or a free one. */
static uint32_t begin(struct cpa_self *self)
{
	struct cpa_wait w = { .now = 1 };

	*self = (struct cpa_self){ 0 };
	assert_int_equal(cpa_thread_begin(self, 0, 1, NULL, &w), 0);
	return self->id;
}

static void end(struct cpa_self *self)
{
	uint32_t number = self->number;

	cpa_thread_end(self, 2);
	cpa_thread_joined(number);
}

/* After 2^32 threads ids repeat: none has a special value or is that of a running thread. */
static void test_thread_ids(void **state)
{
	struct cpa_self self[12];
	uint32_t id[12];

	(void)state;
	cpa_header()->started = WRAP - 4;
	for (int i = 0; i < 12; i++) {
		id[i] = begin(&self[i]);
		assert_int_not_equal(id[i], 0);
		assert_int_not_equal(id[i], UINT32_MAX);
		for (int k = 0; k < i; k++)
			assert_int_not_equal(id[i], id[k]);
		for (int k = 0; k < THREADS; k++)
			assert_int_not_equal(id[i], t[k].id);
	}
	for (int i = 0; i < 12; i++)
		end(&self[i]);
	/* Ids of ended threads may be used again. */
	cpa_header()->started = 2 * WRAP + id[11] - 1;
	assert_int_equal(begin(&self[0]), id[11]);
	end(&self[0]);
}

/* In another part of the run a thread has another id, also unique. */
static void test_ids_of_parts(void **state)
{
	struct cpa_self self;
	uint32_t id;

	(void)state;
	cpa_thread_new_id(&t[0]);
	t[0].row->path.owner = t[0].id;
	cpa_header()->started = WRAP + t[0].id - 1;
	id = begin(&self);
	assert_int_not_equal(id, t[0].id);
	end(&self);
}

static uint64_t count_of(const struct cpa_self *self)
{
	uint64_t count = 0;

	for (uint32_t i = 1; i <= cpa_table(CPA_TABLE_EDGES)->used; i++)
		count += ((const struct cpa_edge *)cpa_row(CPA_TABLE_EDGES, i))->count;
	for (unsigned i = 0; i < CPA_EDGE_CACHE; i++)
		count += self->edges[i].count;
	return count;
}

/* An edge followed again and again, never evicted from the cache. */
static void test_edges(void **state)
{
	struct cpa_edge_cache *activity, *dependency;
	unsigned hint = 0;
	struct cpa_wait w = { .from = 8, .followed = true };
	struct cpa_span span = { .process = 1 };

	(void)state;
	t[0].row->node = 7;
	activity = cpa_summary_edge(&t[0], 7, 7, false);
	dependency = cpa_summary_edge(&t[0], 8, 7, true);
	activity->count = dependency->count = UINT32_MAX - 10;
	for (int i = 0; i < 20; i++) {
		cpa_activity_run(&t[0], 1, 7, &hint);
		cpa_activity_end(&t[0], &span, 7);
		cpa_dependency(&t[0], &w, 1);
	}
	assert_int_equal(count_of(&t[0]), 2 * (uint64_t)(UINT32_MAX - 10) + 60);
	cpa_summary_flush(&t[0]);
	assert_int_equal(count_of(&t[0]), 2 * (uint64_t)(UINT32_MAX - 10) + 60);
}

/* The distribution of times in the queue stays right. */
static void test_histogram(void **state)
{
	struct cpa_component_name name = { .kind = CPA_QUEUE, .address = 1 };
	uint32_t row = cpa_queue_intern(0x1000, cpa_component_intern(&name));
	struct cpa_queue *q = cpa_queue(row);
	struct cpa_wait w = { .arrived = 200, .now = 200 };
	uint32_t short_one = cpa_histogram_bucket(100), other = cpa_histogram_bucket(5000);

	(void)state;
	q->histogram[short_one] = UINT32_MAX / 2 - 1;
	q->histogram[other] = UINT32_MAX / 4;
	cpa_queue_put(at(0, 100, 1), row, 1, 100);
	cpa_queue_take(at(1, 200, 1), row, 1, &w);
	assert_int_equal(q->histogram[short_one], UINT32_MAX / 4);
	assert_int_equal(q->histogram[other], UINT32_MAX / 8);
}

/* The count of threads stops at the field's maximum. */
static void test_threads_of_a_process(void **state)
{
	uint32_t number = cpa_process_claim(0);
	struct cpa_thread row = { 0 };

	(void)state;
	cpa_process(number)->threads = UINT32_MAX - 1;
	for (int i = 0; i < 3; i++)
		cpa_process_enter(&row, number);
	assert_int_equal(cpa_process(number)->threads, UINT32_MAX);
	cpa_process_free(number);
}

/* Stacks and queues of tokens count their changes in 32 bits each. */
static void test_tags(void **state)
{
	struct cpa_object o = { .kind = CPA_SEM };

	(void)state;
	cpa_header()->tokens |= ~(WRAP - 1);
	for (int i = 0; i < 10; i++) {
		cpa_sem_release(at(0, 10 + (uint64_t)i, 100 + (uint64_t)i), &o);
		if (i == 2) {
			o.head |= ~(WRAP - 1);
			o.tail |= ~(WRAP - 1);
		}
	}
	for (int i = 0; i < 10; i++) {
		struct cpa_wait w = { .arrived = 5, .now = 100 };

		at(1, 100, 0);
		cpa_sem_acquired(&t[1], &o, &w);
		assert_int_equal(t[1].row->path.len, 100 + i);
		assert_int_equal(from(&w), 0);
	}
	cpa_object_clear(&t[0], &o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(t) cmocka_unit_test_setup_teardown(t, threads_setup, threads_teardown)
		TEST(test_thread_ids), TEST(test_ids_of_parts),		TEST(test_edges),
		TEST(test_histogram),  TEST(test_threads_of_a_process), TEST(test_tags),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
