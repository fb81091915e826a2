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

/* Return the end of the script on @cores with @load other processes, in turns of @slice ticks. */
static uint64_t end_in_turns(uint32_t cores, uint32_t load, uint64_t slice, uint64_t interrupt)
{
	struct cpa_placement placement = { .groups = 1,
					   .cores = &cores,
					   .load = load,
					   .threads = MAKER_THREADS,
					   .group = group_of,
					   .slice = slice,
					   .interrupt = interrupt };
	struct cpa_replay_result result = cpa_replay(&maker.script, &placement);

	assert_int_equal(result.forced, 0);
	assert_int_equal(result.unfinished, 0);
	return result.ticks;
}

/* As end_in_turns(), with turns of one tick. */
static uint64_t end_on(uint32_t cores, uint32_t load)
{
	return end_in_turns(cores, load, 1, 1);
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

/* Work of a thread on another core takes nothing from the other threads. */
static void test_groups(void **state)
{
	uint32_t cores[] = { 1, 2 }, group[] = { 0, 1, 1, 1 };
	struct cpa_placement placement = { 2, cores, 0, 4, group, 1, 1 };

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

/* Background processes run on the first cores, of whichever group. */
static void test_background(void **state)
{
	uint32_t cores[] = { 1, 2 }, group[] = { 0, 1 };
	struct cpa_placement placement = { 2, cores, 2, 2, group, 1, 1 };

	(void)state;
	make_script(0);
	for (unsigned i = 0; i < 2; i++) {
		make_thread(false, 0);
		make_exit(i ? 190 : 100);
	}
	assert_in_range(cpa_replay(&maker.script, &placement).ticks, 199, 200);
	placement.load = 4;
	/* The fourth is the second one of the first core. */
	assert_in_range(cpa_replay(&maker.script, &placement).ticks, 298, 300);
}

/* @thread works and pauses alternately, then pauses for long. */
static void make_sleeper(const unsigned *work, const unsigned *pause, unsigned times)
{
	make_thread(false, 0);
	for (unsigned i = 0; i < times; i++)
		make_step(work[i], CPA_STEP_PAUSE, 0, pause[i]);
	make_exit(0);
}

/*
 * Return when the thread's work between these pauses is done, on a core with a thread that never
 * waits.
 */
static uint64_t done_at(const unsigned *work, const unsigned *pause, unsigned times,
			uint64_t interrupt)
{
	make_script(0);
	make_sleeper(work, pause, times);
	make_thread(false, 0);
	make_exit(100);
	return end_in_turns(1, 0, 3, interrupt) - pause[times - 1];
}

/* A slice is 3; the timer looks at 4, 8, 12 ... */
static void test_turns(void **state)
{
	(void)state;
	/* It works to 4; from 8 to 10. */
	assert_int_equal(done_at((unsigned[]){ 6 }, (unsigned[]){ 1000 }, 1, 4), 10);
	/* Work that ends before the timer looks is not interrupted, */
	assert_int_equal(done_at((unsigned[]){ 4 }, (unsigned[]){ 1000 }, 1, 4), 4);
	/* nor is a turn shorter than a slice when the timer looks: from 7 to 12. */
	assert_int_equal(done_at((unsigned[]){ 0, 5 }, (unsigned[]){ 7, 1000 }, 2, 4), 12);
}

/* A woken thread gets the core at once, if the other one has had a slice since the last timer. */
static void test_waking(void **state)
{
	(void)state;
	/* At 11 the other one had 3 since 8. */
	assert_int_equal(done_at((unsigned[]){ 0, 3 }, (unsigned[]){ 11, 1000 }, 2, 4), 14);
	/* At 10 not: the timer decides, at 12. */
	assert_int_equal(done_at((unsigned[]){ 0, 3 }, (unsigned[]){ 10, 1000 }, 2, 4), 15);
}

static void test_what_was_lacking_is_kept(void **state)
{
	(void)state;
	/*
	 * It waits from 9 to 12, and pauses from 13 to 21, 1 behind the mean of 10 and 12. The
	 * other one had 20 by 21, and its deadline is 22, since the timer looked at 20, when it had
	 * 19. The sleeper begins 2 before that one, as it is 1 before the mean of both: its
	 * deadline is 21.
	 */
	assert_int_equal(done_at((unsigned[]){ 0, 1, 2 }, (unsigned[]){ 9, 8, 1000 }, 3, 4), 23);
}

static void test_what_was_too_much_is_kept(void **state)
{
	(void)state;
	/*
	 * It had 5 by 5, when it pauses. By 8, when it wakes, the other one had a slice, and its
	 * deadline is 6, the sleeper's is 8. The timer looks at 12.
	 */
	assert_int_equal(done_at((unsigned[]){ 5, 2 }, (unsigned[]){ 3, 1000 }, 2, 6), 14);
}

/* Long turns are not simulated one by one. */
static void test_long_turns(void **state)
{
	const uint64_t work = UINT64_C(1) << 59;

	(void)state;
	make_script(0);
	make_thread(false, 0);
	make_step(work, CPA_STEP_PAUSE, 0, 4 * work);
	make_exit(0);
	make_thread(false, 0);
	make_exit(2 * work);
	/* To a few turns. */
	assert_in_range(end_in_turns(1, 0, 3, 4), 6 * work - 16, 6 * work + 16);
	make_thread(false, 0);
	make_exit(2 * work);
	/* Each has 2/3 of a core. */
	assert_in_range(end_in_turns(2, 0, 3, 4), 11 * (work / 2) - 16, 11 * (work / 2) + 16);
	/* Half a core, of four threads. */
	assert_in_range(end_in_turns(2, 1, 3, 4), 6 * work - 16, 6 * work + 16);
}

/* A woken waiter that has no core yet does not hold the lock either. */
static void test_free_lock(void **state)
{
	uint32_t lock, cores = 1;
	struct cpa_placement placement = { 1,		&cores,		0, MAKER_THREADS, group_of,
					   .slice = 50, .interrupt = 50 };
	struct cpa_replay_result result;

	(void)state;
	make_script(0);
	lock = make_object(CPA_SCRIPT_LOCK, 1);
	make_thread(false, 0);
	make_step(0, CPA_STEP_LOCK, lock, 0);
	make_step(0, CPA_STEP_PAUSE, 0, 1); /* the other one comes, and waits */
	make_step(2, CPA_STEP_UNLOCK, lock, 0);
	make_step(3, CPA_STEP_LOCK, lock, 0);
	make_step(4, CPA_STEP_UNLOCK, lock, 0);
	make_exit(0);
	make_thread(false, 0);
	make_step(0, CPA_STEP_LOCK, lock, 0);
	make_step(5, CPA_STEP_UNLOCK, lock, 0);
	make_exit(0);
	result = cpa_replay(&maker.script, &placement);
	assert_int_equal(result.ticks, 1 + 2 + 3 + 4 + 5);
	assert_int_equal(result.blocked, 1);
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
	/* One has its 10 at 19, and the core is needed again from 119 on. */
	assert_int_equal(end_on(1, 0), 139);
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
	/* A lock that excludes nobody. */
	maker.object[0].count = 0;
	assert_int_equal(end_on(4, 0), 250);
	/* With one core there is no idle time to lose. */
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
	/* Two readers that arrive during the write then read at the same time. */
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

/* Two messages of @value ticks for their bytes each, made at 10, which two threads wait for: the end. */
static uint64_t end_of_messages(uint32_t *stream, uint64_t value, bool between)
{
	make_script(3);
	maker.script.offers = 2;
	maker.script.stream = stream;
	maker.script.streams = 2;
	maker.script.between = between;
	make_thread(false, 0);
	make_step(10, CPA_STEP_OFFER, 0, 0);
	make_step(0, CPA_STEP_OFFER, 1, 0);
	make_exit(0);
	for (unsigned i = 0; i < 2; i++) {
		make_thread(false, 0);
		make_step(0, CPA_STEP_AWAIT, i, 1 + 7);
		make_step(0, CPA_STEP_CARRY, i, value);
		make_exit(1);
	}
	return end_on(3, 0);
}

/* Bytes of one stream are carried one after the other, those of two at the same time; the 7 ticks come on top. */
static void test_carry(void **state)
{
	uint32_t one[2] = { 1, 1 }, two[2] = { 0, 1 };

	(void)state;
	assert_int_equal(end_of_messages(one, 100, false), 10 + 2 * 100 + 7 + 1);
	assert_int_equal(end_of_messages(two, 100, false), 10 + 100 + 7 + 1);
	/* In one group of cores they take what they did. */
	assert_int_equal(end_of_messages(one, 100, true), 10 + 3 + 1);
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
	/* A core that is not idle needs no time to go on with another thread. */
	assert_int_equal(end_on(1, 0), 10 + 10 + 100 + 5);
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

/*
 * Two threads take two locks in opposite order: the one that waited first continues, and this is
 * counted.
 */
static void test_circle(void **state)
{
	uint32_t a, b, cores = 2;
	struct cpa_placement placement = { 1, &cores, 0, MAKER_THREADS, group_of, 1, 1 };
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

/* An impossible run: it ends nevertheless, and reports that there was more. */
static void test_too_long(void **state)
{
	uint32_t cores = 1;

	(void)state;
	make_script(0);
	for (unsigned i = 0; i < 2; i++) {
		make_thread(false, 0);
		make_step(UINT64_MAX, CPA_STEP_PAUSE, 0, UINT64_MAX);
		make_exit(UINT64_MAX);
	}
	for (uint32_t load = 0; load < 4; load += 3) {
		struct cpa_placement placement = { 1, &cores, load, MAKER_THREADS, group_of, 3, 4 };

		assert_int_equal(cpa_replay(&maker.script, &placement).unfinished, 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sharing),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_background),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_waking),
		cmocka_unit_test(test_what_was_lacking_is_kept),
		cmocka_unit_test(test_what_was_too_much_is_kept),
		cmocka_unit_test(test_long_turns),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_free_lock),
		cmocka_unit_test(test_pause_needs_no_core),
		cmocka_unit_test(test_convoy),
		cmocka_unit_test(test_latency),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_readers_and_writer),
		cmocka_unit_test(test_barrier),
		cmocka_unit_test(test_semaphore_and_offers),
		cmocka_unit_test(test_carry),
		cmocka_unit_test(test_create_and_join),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_bounded_queue),
		cmocka_unit_test(test_circle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
