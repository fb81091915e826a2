/* SPDX-License-Identifier: MIT */
/* tests/unit/test_transcribe.c - recorded runs, replayed unchanged and changed */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/recorded.h"

/* Main makes a thread that takes a lock; both meet in it, and main joins. */
static void make_locks(void)
{
	struct cpa_history_event *event;

	begin();
	thread(0, 0);
	add(CPA_EV_CREATE, 0, 10, 10)->peer = 2;
	add(CPA_EV_LOCK, MUTEX, 20, 20);
	event = add(CPA_EV_UNLOCK, MUTEX, 120, 120);
	charge(event, LOCK_SLOT, 100);
	charge(event, FUNCTION_SLOT, 60);
	event = add(CPA_EV_EXTERNAL, 0, 150, 150);
	event->process = 10;
	event->external = 20;
	charge(event, READ_SLOT, 20);
	event = add(CPA_EV_JOIN, 0, 150, 235);
	event->peer = 2;
	after(event, 2, 4);
	add(CPA_EV_EXIT, 0, 240, 240);
	made.run.exit_thread = 1;
	made.run.end = START + 240;
	thread(15, 2);
	after(add(CPA_EV_LOCK, MUTEX, 30, 125), 1, 4);
	event = add(CPA_EV_UNLOCK, MUTEX, 225, 225);
	charge(event, LOCK_SLOT, 100);
	add(CPA_EV_EXIT, 0, 230, 230);
}

static void test_unchanged(void **state)
{
	(void)state;
	make_locks();
	/* Both the lock and the join come 5 after their releases. */
	assert_int_equal(as_it_was(2), 240);
	assert_int_equal(transcript->script.latency, 5);
	assert_int_equal(transcript->recorded, 240);
	assert_int_equal(transcript->weakness.pauses, 1);
	assert_int_equal(transcript->weakness.pause_ticks, 20);
	assert_int_equal(transcript->probe, 0);
	assert_int_equal(transcript->work, 135 + 120);
}

static void test_factors(void **state)
{
	double factor[SLOTS] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	const struct cpa_changes changes = { .factor = factor };

	(void)state;
	make_locks();
	/* Main's section takes 70 instead of 100: the other thread has the lock so much earlier. */
	factor[FUNCTION_SLOT] = 0.5;
	assert_int_equal(replayed(&changes, 2), 240 - 30);
	/* Both sections take nothing: main is at 20, reads until 50, the thread ended at 35. */
	factor[FUNCTION_SLOT] = 1;
	factor[LOCK_SLOT] = 0;
	assert_int_equal(replayed(&changes, 2), 50 + 5);
	/* Half of each, and no reading, which main does not wait for. */
	factor[LOCK_SLOT] = 0.5;
	factor[READ_SLOT] = 0;
	assert_int_equal(replayed(&changes, 2), 240 - 2 * 50);
	assert_int_equal(transcript->weakness.pauses, 0);
}

/* Impossible times: the sanitizer checks that they cause no undefined behaviour. */
static void test_impossible_times(void **state)
{
	double factor[SLOTS] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	const struct cpa_changes changes = { .factor = factor };
	struct cpa_history_event *event;

	(void)state;
	assert_true(cpa_history_ticks(0x1p64) == UINT64_C(1) << 63);
	assert_true(cpa_history_ticks(0x1p63) == UINT64_C(1) << 63);
	assert_int_equal(cpa_history_ticks(0x1p62), INT64_C(1) << 62);
	assert_int_equal(cpa_history_ticks(-1), 0);
	assert_int_equal(cpa_history_ticks(0.0 / 0.0), 0);
	begin();
	thread(0, 0);
	event = add(CPA_EV_EXIT, 0, 240, 240);
	event->process = UINT64_MAX;
	made.run.exit_thread = 1;
	made.run.end = START + 240;
	assert_true(replayed(&changes, 2) > 0);
}

static void test_drop(void **state)
{
	const uint32_t locks[CLASSES] = { 1, 0, 1 };
	const struct cpa_changes changes = { .locks = locks };

	(void)state;
	make_locks();
	/* The thread is done at 15 + 15 + 100 + 5; main, at 150, need not wait for it. */
	assert_int_equal(replayed(&changes, 2), 155);
}

/* Time between two events that is neither work nor wait is the profiler's. */
static void test_probes(void **state)
{
	const struct cpa_changes changes = { .probes = true };

	(void)state;
	begin();
	thread(0, 0);
	add(CPA_EV_MARK, 0, 100, 100)->process = 70;
	add(CPA_EV_EXIT, 0, 200, 200)->runqueue = 100;
	made.event[0][2].process = 0;
	assert_int_equal(as_it_was(1), 70);
	assert_int_equal(transcript->probe, 30);
	assert_int_equal(replayed(&changes, 1), 100);
}

/* A waiter is woken by the recorded signal; its mutex is free meanwhile. */
static void test_condition(void **state)
{
	struct cpa_history_event *event = make_wait();

	(void)state;
	after(event, 2, 3);
	after(event, 2, 4);
	thread(0, 0);
	add(CPA_EV_LOCK, MUTEX, 50, 50);
	add(CPA_EV_SIGNAL, CONDITION, 80, 80);
	add(CPA_EV_UNLOCK, MUTEX, 90, 90);
	add(CPA_EV_EXIT, 0, 95, 95);
	/* Woken at 80 + 10, it finds the lock just free. */
	assert_int_equal(as_it_was(2), 130);
	assert_int_equal(transcript->script.latency, 10);
	/* One signal, one wait: treated as a queue. */
	assert_int_equal(transcript->weakness.guessed, 1);
	assert_int_equal(transcript->weakness.conditions, 0);
	assert_int_equal(transcript->weakness.unexplained, 0);
}

/* Without a release the wait is a pause. */
static void test_unexplained(void **state)
{
	(void)state;
	make_wait()->failed = true;
	assert_int_equal(as_it_was(1), 130);
	assert_int_equal(transcript->weakness.unexplained, 1);
	assert_int_equal(transcript->weakness.unexplained_ticks, 80);
}

/* The pause is as long as the thread was blocked: the rest of the wait is for a processor. */
static void test_unexplained_and_ready(void **state)
{
	const struct cpa_changes runqueue = { .runqueue = true };
	struct cpa_history_event *wait, *more;

	(void)state;
	begin();
	thread(0, 0);
	wait = add(CPA_EV_SEM_WAIT, SEMAPHORE, 20, 100);
	wait->failed = true;
	wait->ready = 30;
	more = add(CPA_HISTORY_MORE, 0, 100, 100);
	more->external = 50;
	more->runqueue = 30;
	add(CPA_EV_EXIT, 0, 130, 130);
	assert_int_equal(as_it_was(1), 130 - 30);
	assert_int_equal(transcript->runqueue, 30);
	assert_int_equal(transcript->weakness.unexplained, 1);
	assert_int_equal(transcript->weakness.unexplained_ticks, 50);
	assert_int_equal(transcript->weakness.pauses, 0);
	assert_int_equal(replayed(&runqueue, 1), 130);
	/* What follows may not be about the wait. */
	more->runqueue = 31;
	more->process = 0;
	assert_int_equal(as_it_was(1), 130 - 30 + 50);
}

/* A thread that is woken, and waits for a processor, is late for that. */
static void test_woken_and_ready(void **state)
{
	const struct cpa_changes runqueue = { .runqueue = true };
	struct cpa_history_event *wait;

	(void)state;
	begin();
	thread(0, 0);
	wait = add(CPA_EV_SEM_WAIT, SEMAPHORE, 20, 100);
	wait->ready = 35;
	after(wait, 2, 2);
	add(CPA_EV_EXIT, 0, 130, 130);
	made.run.exit_thread = 1;
	thread(0, 0);
	add(CPA_EV_POST, SEMAPHORE, 60, 60);
	add(CPA_EV_EXIT, 0, 70, 70);
	assert_int_equal(as_it_was(2), 60 + 5 + 30);
	assert_int_equal(transcript->script.latency, 5);
	assert_int_equal(transcript->runqueue, 35);
	assert_int_equal(replayed(&runqueue, 2), 130);
	/* No more of it than there is behind the release. */
	wait->ready = 70;
	assert_int_equal(as_it_was(2), 60 + 30);
	assert_int_equal(replayed(&runqueue, 2), 130);
}

/* A wait that timed out, and whose mutex was used meanwhile: it waited for a processor once. */
static void test_timed_out_and_ready(void **state)
{
	const struct cpa_changes runqueue = { .runqueue = true };
	struct cpa_history_event *wait = make_wait();

	(void)state;
	wait->failed = true;
	wait->ready = 30;
	after(wait, 2, 3);
	thread(0, 0);
	add(CPA_EV_LOCK, MUTEX, 50, 50);
	add(CPA_EV_UNLOCK, MUTEX, 60, 60);
	add(CPA_EV_EXIT, 0, 60, 60);
	assert_int_equal(as_it_was(2), 130 - 30);
	assert_int_equal(transcript->weakness.unexplained_ticks, 50);
	assert_int_equal(transcript->runqueue, 30);
	assert_int_equal(replayed(&runqueue, 2), 130);
}

/* A wait for a signal's handler is one event, which depends on whoever sent the signal. */
static void test_handler(void **state)
{
	(void)state;
	begin();
	thread(0, 0);
	after(add(CPA_EV_SLEEP, CONDITION, 20, 90), 2, 2);
	add(CPA_EV_EXIT, 0, 130, 130);
	made.run.exit_thread = 1;
	thread(0, 0);
	add(CPA_EV_SIGNAL, CONDITION, 80, 80);
	add(CPA_EV_EXIT, 0, 85, 85);
	assert_int_equal(as_it_was(2), 130);
	assert_int_equal(transcript->script.latency, 10);
	assert_int_equal(transcript->weakness.ordered, 1);
}

static void test_semaphore_and_barrier(void **state)
{
	(void)state;
	begin();
	thread(0, 0);
	add(CPA_EV_SEM_WAIT, SEMAPHORE, 10, 10)->matched = true; /* an initial token */
	after(add(CPA_EV_SEM_WAIT, SEMAPHORE, 20, 50), 2, 2);
	add(CPA_EV_ARRIVE, BARRIER, 60, 60)->count = 2;
	after(add(CPA_EV_LEAVE, BARRIER, 60, 100), 2, 3);
	add(CPA_EV_EXIT, 0, 200, 200);
	thread(0, 0);
	add(CPA_EV_POST, SEMAPHORE, 50, 50);
	add(CPA_EV_ARRIVE, BARRIER, 100, 100)->count = 2;
	after(add(CPA_EV_LEAVE, BARRIER, 100, 100), 1, 4);
	add(CPA_EV_EXIT, 0, 150, 150);
	assert_int_equal(as_it_was(2), 200);
	assert_int_equal(transcript->script.latency, 0);
	/* 20 of each; 30 until the post; 10 of each up to main's arrival; 40; 50 of each; 50. */
	assert_int_equal(as_it_was(1), 2 * 20 + 30 + 2 * 10 + 40 + 2 * 50 + 50);
}

/*
 * A child execs another program, which main waits for: processes are threads that are created and
 * joined.
 */
static void test_processes(void **state)
{
	struct cpa_history_event *event;

	(void)state;
	begin();
	thread(0, 0);
	add(CPA_EV_FORK, 0, 10, 10)->peer = 2;
	event = add(CPA_EV_CHILD, 0, 20, 130);
	event->peer = 3;
	after(event, 3, 2);
	add(CPA_EV_EXIT, 0, 140, 140);
	made.run.exit_thread = 1;
	thread(10, 2);
	add(CPA_EV_EXEC, 0, 20, 20)->peer = 3;
	thread(30, 0);
	after(&made.event[2][0], 2, 2);
	add(CPA_EV_EXIT, 0, 130, 130);
	/* The loading of the program, which is not observed, is not included. */
	assert_int_equal(as_it_was(2), 140 - 10);
	assert_int_equal(as_it_was(1), 140);
	assert_int_equal(transcript->weakness.children, 1);
	assert_int_equal(transcript->weakness.unexplained, 0);
	/* Of a child that could not be profiled only the wait is known. */
	event->failed = true;
	event->causes = event->peer = 0;
	assert_int_equal(as_it_was(2), 140);
	assert_int_equal(transcript->weakness.children, 0);
	assert_int_equal(transcript->weakness.unexplained, 1);
}

#define ITEMS 12

/* Main puts items 10 ticks apart; @workers threads got them in turn, and take 100 ticks each. */
static void make_queue(uint32_t workers)
{
	make_threads(workers);
	for (uint32_t i = 0; i < ITEMS; i++) {
		add(CPA_EV_LOCK, OWN, 10 * i + 10, 10 * i + 10);
		add(CPA_EV_ENQUEUE, 0, 10 * i + 10, 10 * i + 10)->queue = QUEUE;
		add(CPA_EV_UNLOCK, OWN, 10 * i + 10, 10 * i + 10);
	}
	join_threads(workers, 10 * ITEMS, 10000);
	for (uint32_t w = 0; w < workers; w++) {
		uint64_t now = 0;

		thread(0, w + 2);
		add(CPA_EV_LOCK, OWN, 0, 0);
		for (uint32_t i = w; i < ITEMS; i += workers) {
			uint64_t put = 10 * i + 10, asleep = now;
			struct cpa_history_event *event;

			/* In the recorded run it waited for each on a condition of the queue. */
			add(CPA_EV_SLEEP, OWN_CONDITION, now, now)->other = OWN;
			now = now > put ? now : put;
			add(CPA_EV_WAIT, OWN_CONDITION, asleep, now)->other = OWN;
			event = add(CPA_EV_DEQUEUE, 0, now, now);
			event->queue = QUEUE;
			after(event, 1, 1 + workers + 3 * i + 2);
			add(CPA_EV_UNLOCK, OWN, now, now);
			now += 100;
			add(CPA_EV_LOCK, OWN, now, now);
		}
		add(CPA_EV_UNLOCK, OWN, now, now);
		add(CPA_EV_EXIT, 0, now, now);
	}
}

static void test_queue(void **state)
{
	(void)state;
	make_queue(3);
	/* The first of the last three begins at 310, the last one at 330. */
	assert_int_equal(as_it_was(4), 430);
	assert_int_equal(transcript->weakness.undealt, 0);
	assert_int_equal(transcript->weakness.conditions, 0);
	assert_int_equal(transcript->script.object[0].deal, CPA_DEAL_ITEMS);
}

/* Who waited for an item waits for a processor when the item is there. */
static void test_item_and_ready(void **state)
{
	const struct cpa_changes runqueue = { .runqueue = true };
	struct cpa_history_event *event;

	(void)state;
	make_threads(1);
	add(CPA_EV_LOCK, OWN, 50, 50);
	add(CPA_EV_ENQUEUE, 0, 50, 50)->queue = QUEUE;
	add(CPA_EV_SIGNAL, OWN_CONDITION, 50, 50);
	add(CPA_EV_UNLOCK, OWN, 50, 50);
	join_threads(1, 50, 100);
	thread(0, 2);
	add(CPA_EV_LOCK, OWN, 0, 0);
	add(CPA_EV_SLEEP, OWN_CONDITION, 0, 0)->other = OWN;
	event = add(CPA_EV_WAIT, OWN_CONDITION, 0, 80);
	event->other = OWN;
	event->ready = 30;
	after(event, 1, 5);
	event = add(CPA_EV_DEQUEUE, 0, 80, 80);
	event->queue = QUEUE;
	after(event, 1, 4);
	add(CPA_EV_UNLOCK, OWN, 80, 80);
	add(CPA_EV_EXIT, 0, 100, 100);
	assert_int_equal(as_it_was(2), 70);
	assert_int_equal(transcript->runqueue, 30);
	assert_int_equal(replayed(&runqueue, 2), 100);
}

static void test_workers(void **state)
{
	uint32_t workers[CLASSES] = { 0 };
	const struct cpa_changes changes = { .workers = workers };

	(void)state;
	make_queue(3);
	workers[QUEUE_CLASS] = 3;
	assert_int_equal(replayed(&changes, 16), 430);
	workers[QUEUE_CLASS] = 1;
	assert_int_equal(replayed(&changes, 16), 10 + 100 * ITEMS);
	workers[QUEUE_CLASS] = 2;
	assert_int_equal(replayed(&changes, 16), 20 + 100 * ITEMS / 2);
	workers[QUEUE_CLASS] = 6;
	assert_int_equal(replayed(&changes, 16), 60 + 100 * ITEMS / 6);
	workers[QUEUE_CLASS] = 20;
	assert_int_equal(replayed(&changes, 21), 120 + 100);
	make_queue(1);
	workers[QUEUE_CLASS] = 2;
	assert_int_equal(replayed(&changes, 16), 20 + 100 * ITEMS / 2);
	assert_int_equal(transcript->weakness.refused, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unchanged),
		cmocka_unit_test(test_factors),
		cmocka_unit_test(test_impossible_times),
		cmocka_unit_test(test_drop),
		cmocka_unit_test(test_probes),
		cmocka_unit_test(test_condition),
		cmocka_unit_test(test_unexplained),
		cmocka_unit_test(test_unexplained_and_ready),
		cmocka_unit_test(test_woken_and_ready),
		cmocka_unit_test(test_timed_out_and_ready),
		cmocka_unit_test(test_handler),
		cmocka_unit_test(test_semaphore_and_barrier),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_item_and_ready),
		cmocka_unit_test(test_workers),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
