/* SPDX-License-Identifier: MIT */
/* tests/unit/test_replay.c - replays whose end can be computed by hand */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/script_maker.h"

static uint32_t group_of[MAKER_THREADS];

/* When the script ends on @cores with @load processes beside it. */
static uint64_t end_on(uint32_t cores, uint32_t load)
{
	struct cpa_placement placement = { 1, &cores, load, MAKER_THREADS, group_of };
	struct cpa_replay_result result = cpa_replay(&maker.script, &placement);

	assert_int_equal(result.forced, 0);
	assert_int_equal(result.unfinished, 0);
	return result.ticks;
}

/* Up to 2/3 of a core each, three threads on two cores; then one core each. */
static void test_sharing(void **state)
{
	(void)state;
	make_script(0);
	for (unsigned i = 1; i <= 3; i++) {
		make_thread(false, 0);
		make_exit(200 * i);
	}
	/* 200 each until 300; 200 each until 500; the last 200 alone. */
	assert_in_range(end_on(2, 0), 700, 702);
	assert_int_equal(end_on(3, 0), 600);
	assert_in_range(end_on(1, 0), 1200, 1202);
	/* One more that never ends: 200 each until 400, until 700 (3 on 2), until 900. */
	assert_in_range(end_on(2, 1), 900, 904);
}

/* What a thread works on another core than the others' takes nothing from them. */
static void test_groups(void **state)
{
	uint32_t cores[] = { 1, 2 }, group[] = { 0, 1, 1, 1 };
	struct cpa_placement placement = { 2, cores, 0, 4, group };

	(void)state;
	make_script(0);
	for (unsigned i = 0; i < 4; i++) {
		make_thread(false, 0);
		make_exit(i ? 200 : 500);
	}
	assert_int_equal(cpa_replay(&maker.script, &placement).ticks, 500);
	group[1] = 0;
	assert_int_equal(cpa_replay(&maker.script, &placement).ticks, 700);
}

static void test_pause_needs_no_core(void **state)
{
	(void)state;
	make_script(0);
	for (unsigned i = 0; i < 2; i++) {
		make_thread(false, 0);
		make_step(10, CPA_STEP_PAUSE, 0, 100);
		make_exit(10);
	}
	/* 10 each until 20, paused until 120, 10 each. */
	assert_int_equal(end_on(1, 0), 140);
}

static void make_convoy(unsigned threads, unsigned rounds, uint32_t locks)
{
	uint32_t lock = make_object(CPA_SCRIPT_LOCK, locks);

	for (unsigned i = 0; i < threads; i++) {
		make_thread(false, 0);
		for (unsigned k = 0; k < rounds; k++) {
			make_step(5, CPA_STEP_LOCK, lock, 0);
			make_step(20, CPA_STEP_UNLOCK, lock, 0);
		}
		make_exit(0);
	}
}

static void test_convoy(void **state)
{
	(void)state;
	make_script(0);
	make_convoy(4, 10, 1);
	/* The lock is never idle once it is taken: 5 + 40 * 20. */
	assert_int_equal(end_on(4, 0), 805);
	/* One that excludes nobody. */
	maker.object[0].count = 0;
	assert_int_equal(end_on(4, 0), 250);
	/* One core has no time to lose. */
	maker.object[0].count = 1;
	assert_int_equal(end_on(1, 0), 1000);
}

/* A waiter is woken by the unlock; the lock is idle until it comes, unless another comes first. */
static void test_latency(void **state)
{
	uint32_t lock;

	(void)state;
	make_script(7);
	lock = make_object(CPA_SCRIPT_LOCK, 1);
	for (unsigned i = 0; i < 2; i++) {
		make_thread(false, 0);
		make_step(i, CPA_STEP_LOCK, lock, 0);
		make_step(20, CPA_STEP_UNLOCK, lock, 0);
		make_exit(0);
	}
	assert_int_equal(end_on(2, 0), 20 + 7 + 20);
	/* A third one asks at 23, before the waiter has woken at 27, which waits again until 43. */
	make_thread(false, 0);
	make_step(23, CPA_STEP_LOCK, lock, 0);
	make_step(20, CPA_STEP_UNLOCK, lock, 0);
	make_exit(0);
	assert_int_equal(end_on(3, 0), 43 + 7 + 20);
}

static void test_split(void **state)
{
	uint64_t one, many;

	(void)state;
	make_script(0);
	make_convoy(4, 50, 1);
	one = end_on(4, 0);
	maker.object[0].count = 1000;
	many = end_on(4, 0);
	assert_int_equal(one, 5 + 200 * 20);
	assert_in_range(many, 50 * 25, 50 * 25 * 12 / 10);
}

static void test_readers_and_writer(void **state)
{
	uint32_t lock;

	(void)state;
	make_script(0);
	lock = make_object(CPA_SCRIPT_LOCK, 1);
	/* The writer comes at 10, the readers have the lock at 0 to 30 and 20 to 50. */
	for (unsigned i = 0; i < 2; i++) {
		make_thread(false, 0);
		make_step(20 * i, CPA_STEP_READ, lock, 0);
		make_step(30, CPA_STEP_UNLOCK, lock, 0);
		make_exit(0);
	}
	make_thread(false, 0);
	make_step(10, CPA_STEP_LOCK, lock, 0);
	make_step(100, CPA_STEP_UNLOCK, lock, 0);
	make_exit(0);
	/* Two that come while it writes read at once. */
	for (unsigned i = 0; i < 2; i++) {
		make_thread(false, 0);
		make_step(60, CPA_STEP_READ, lock, 0);
		make_step(40, CPA_STEP_UNLOCK, lock, 0);
		make_exit(0);
	}
	assert_int_equal(end_on(5, 0), 50 + 100 + 40);
}

static void test_barrier(void **state)
{
	uint32_t barrier;

	(void)state;
	make_script(3);
	barrier = make_object(CPA_SCRIPT_BARRIER, 3);
	for (unsigned i = 0; i < 3; i++) {
		make_thread(false, 0);
		for (unsigned k = 0; k < 3; k++)
			make_step(k == i ? 100 : 10, CPA_STEP_ARRIVE, barrier, 0);
		make_exit(0);
	}
	/* The last to arrive goes on at once, the others after 3, the next last among them. */
	assert_int_equal(end_on(3, 0), 100 + 3 + 100 + 3 + 100 + 3);
}

static void test_semaphore_and_offers(void **state)
{
	uint32_t sem;

	(void)state;
	make_script(0);
	sem = make_object(CPA_SCRIPT_SEM, 1);
	maker.script.offers = 2;
	make_thread(false, 0);
	make_step(10, CPA_STEP_OFFER, 0, 0);
	make_step(40, CPA_STEP_POST, sem, 0);
	make_step(0, CPA_STEP_AWAIT, 1, 0);
	make_exit(5);
	make_thread(false, 0);
	make_step(0, CPA_STEP_AWAIT, 0, 0); /* until 10 */
	make_step(1, CPA_STEP_TAKE, sem, 0);
	make_step(1, CPA_STEP_TAKE, sem, 0); /* until 50 */
	make_step(20, CPA_STEP_OFFER, 1, 0);
	make_step(0, CPA_STEP_AWAIT, 0, 0); /* made long ago */
	make_exit(0);
	assert_int_equal(end_on(2, 0), 75);
}

static void test_create_and_join(void **state)
{
	(void)state;
	make_script(2);
	make_thread(false, 0);
	make_step(10, CPA_STEP_CREATE, 1, 0);
	make_step(10, CPA_STEP_JOIN, 1, 0);
	make_step(0, CPA_STEP_JOIN, 1, 0);
	make_exit(5);
	make_thread(true, 0);
	make_exit(100);
	assert_int_equal(end_on(2, 0), 10 + 2 + 100 + 2 + 5);
	/* From 12 to 28 both work. */
	assert_int_equal(end_on(1, 0), 12 + 2 * 8 + 92 + 2 + 5);
}

/* One thread puts items of 100 ticks; @workers get them, and work 1 tick after the last. */
static void make_pool(unsigned items, unsigned workers)
{
	uint32_t queue = make_object(CPA_SCRIPT_QUEUE, 0);

	maker.object[queue].deal = CPA_DEAL_ITEMS;
	make_thread(false, 0);
	for (unsigned i = 0; i < items; i++)
		make_step(10, CPA_STEP_PUT, queue, i);
	make_exit(0);
	for (unsigned w = 0; w < workers; w++) {
		make_thread(false, 0);
		/* As recorded, the first one had nearly all the work. */
		for (unsigned i = w ? items - workers + w : 0;
		     i < (w ? items - workers + w + 1 : items - workers + 1); i++) {
			make_step(0, CPA_STEP_GET, queue, i);
			make_step(100, CPA_STEP_NONE, 0, 0);
		}
		make_tail();
		make_exit(1);
	}
}

static void test_queue(void **state)
{
	(void)state;
	make_script(0);
	make_pool(20, 4);
	/* Items come every 10 from 10 on; the last four begin at 410, 420, 430, 440. */
	assert_int_equal(end_on(5, 0), 440 + 100 + 1);
	make_script(0);
	make_pool(20, 10);
	/* Two rounds of ten: the last one begins at 200. */
	assert_int_equal(end_on(11, 0), 200 + 100 + 1);
	/* As recorded: the first worker does 0 to 10, then 11 on its own. */
	maker.object[0].deal = CPA_DEAL_RECORDED;
	assert_int_equal(end_on(11, 0), 10 + 11 * 100 + 1);
}

/* A producer waits for space. Its own lock is free meanwhile. */
static void test_bounded_queue(void **state)
{
	uint32_t queue, lock;

	(void)state;
	make_script(0);
	queue = make_object(CPA_SCRIPT_QUEUE, 2);
	lock = make_object(CPA_SCRIPT_LOCK, 1);
	maker.object[queue].deal = CPA_DEAL_ITEMS;
	maker.object[queue].lock = lock;
	make_thread(false, 0);
	for (unsigned i = 0; i < 6; i++) {
		make_step(1, CPA_STEP_LOCK, lock, 0);
		make_step(0, CPA_STEP_PUT, queue, i);
		make_step(0, CPA_STEP_UNLOCK, lock, 0);
	}
	make_exit(1000);
	make_thread(false, 0);
	make_step(0, CPA_STEP_LOCK, lock, 0);
	for (unsigned i = 0; i < 6; i++) {
		make_step(0, CPA_STEP_GET, queue, i);
		make_step(0, CPA_STEP_UNLOCK, lock, 0);
		make_step(100, CPA_STEP_LOCK, lock, 0);
	}
	make_tail();
	make_step(0, CPA_STEP_UNLOCK, lock, 0);
	make_exit(0);
	/* Items 0 to 2 at 1, 2, 3; number 3, 4 and 5 find space at 101, 201, 301. */
	assert_int_equal(end_on(2, 0), 301 + 1000);
}

/* Two that take two locks in opposite order: the one that waited first goes on, and is counted. */
static void test_circle(void **state)
{
	uint32_t a, b, cores = 2;
	struct cpa_placement placement = { 1, &cores, 0, MAKER_THREADS, group_of };
	struct cpa_replay_result result;

	(void)state;
	make_script(0);
	a = make_object(CPA_SCRIPT_LOCK, 1);
	b = make_object(CPA_SCRIPT_LOCK, 1);
	for (unsigned i = 0; i < 2; i++) {
		make_thread(false, 0);
		make_step(0, CPA_STEP_LOCK, i ? a : b, 0);
		make_step(10 + i, CPA_STEP_LOCK, i ? b : a, 0);
		make_step(10, CPA_STEP_UNLOCK, a, 0);
		make_step(0, CPA_STEP_UNLOCK, b, 0);
		make_exit(0);
	}
	result = cpa_replay(&maker.script, &placement);
	assert_int_equal(result.forced, 1);
	assert_int_equal(result.ticks, 11 + 10 + 10);
	assert_int_equal(result.worked, 41);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sharing),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_pause_needs_no_core),
		cmocka_unit_test(test_convoy),
		cmocka_unit_test(test_latency),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_readers_and_writer),
		cmocka_unit_test(test_barrier),
		cmocka_unit_test(test_semaphore_and_offers),
		cmocka_unit_test(test_create_and_join),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_bounded_queue),
		cmocka_unit_test(test_circle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
