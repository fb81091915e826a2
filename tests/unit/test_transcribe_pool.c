/* SPDX-License-Identifier: MIT */
/* tests/unit/test_transcribe_pool.c - conditions that act as queues, and waits that are polls */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/recorded.h"

#define TASKS	  8
#define LONG_TASK 700

/* Ticks of work of a task. */
static uint64_t task_ticks(uint32_t task)
{
	return task == 1 ? LONG_TASK : 100;
}

/*
 * Main puts tasks into a pool every 10 ticks, then closes it. The recorded assignment of tasks to
 * the @workers is @who; each worker waited for its first and last task only.
 */
static void make_pool(uint32_t workers, const uint32_t *who)
{
	make_threads(workers);
	for (uint32_t i = 0; i <= TASKS; i++) {
		uint64_t now = i == TASKS ? 5000 : 10 * i + 10;

		add(CPA_EV_LOCK, MUTEX, now, now);
		add(i == TASKS ? CPA_EV_BROADCAST : CPA_EV_SIGNAL, CONDITION, now + 1, now + 1);
		add(CPA_EV_UNLOCK, MUTEX, now + 2, now + 2);
		if (i + 1 == TASKS)
			add(CPA_EV_EXTERNAL, 0, 5000, 5000)->process = 0;
	}
	join_threads(workers, 5010, 5010);
	for (uint32_t w = 0; w < workers; w++) {
		uint64_t now = 0;

		thread(0, w + 2);
		made.thread[w + 1].thread.slot = LOCK_SLOT; /* another class than main's */
		for (uint32_t i = 0; i <= TASKS; i++) {
			uint64_t put = i == TASKS ? 5002 : 10 * i + 12;
			struct cpa_history_event *event;

			if (i < TASKS && who[i] != w)
				continue;
			event = add(CPA_EV_LOCK, MUTEX, now, now);
			if (now > LONG_TASK)
				charge(event, FUNCTION_SLOT, who[1] == w ? LONG_TASK : 0);
			if (now < put) {
				add(CPA_EV_SLEEP, CONDITION, now, now)->other = MUTEX;
				event = add(CPA_EV_WAIT, CONDITION, now, put);
				event->other = MUTEX;
				event->process = 0;
				after(event, 1, 1 + workers + 3 * i + 2 + (i == TASKS));
				now = put;
			}
			add(CPA_EV_UNLOCK, MUTEX, now, now);
			now += i < TASKS ? task_ticks(i) : 0;
		}
		add(CPA_EV_EXIT, 0, now, now);
	}
}

/* Tasks of a pool made of a mutex and a condition go to a free thread, not to the recorded one. */
static void test_pool(void **state)
{
	static const uint32_t uneven[TASKS] = { 0, 1, 0, 0, 0, 0, 0, 0 };
	static const uint32_t alone[TASKS] = { 0 };
	double factor[SLOTS] = { 1, 1, 0, 1, 1, 1, 1, 1 };
	const struct cpa_changes changes = { .factor = factor };

	(void)state;
	make_pool(2, uneven);
	/* The long one ends last; it was taken at 22, one after the signal. */
	assert_in_range(as_it_was(4), 22 + LONG_TASK, 22 + LONG_TASK + 5);
	assert_int_equal(transcript->weakness.guessed, TASKS);
	assert_int_equal(transcript->weakness.conditions, 2);
	assert_int_equal(transcript->script.object[0].deal, CPA_DEAL_ITEMS);
	/*
	 * With a task of no length its worker takes half of the others; otherwise the first worker
	 * had all seven.
	 */
	assert_in_range(replayed(&changes, 4), 400, 450);
	make_pool(1, alone);
	as_it_was(4);
	/* All tasks are equal: no assignment matters. */
	assert_int_equal(transcript->weakness.guessed, TASKS + 1);
	assert_int_equal(transcript->script.object[0].deal, CPA_DEAL_COUNT);
}

/* A condition from which more was taken than put does not act as a queue. */
static void test_no_pool(void **state)
{
	static const uint32_t uneven[TASKS] = { 0, 1, 0, 1, 0, 1, 0, 1 };

	(void)state;
	make_pool(2, uneven);
	/* Three of the signals go elsewhere. */
	for (uint32_t i = 1; i < 4; i++)
		made.event[0][3 + 3 * i + 1].kind = CPA_EV_MARK;
	as_it_was(4);
	assert_int_equal(transcript->weakness.guessed, 0);
}

/* A wait that timed out and was repeated until the signal is one wait. */
static void test_polls(void **state)
{
	struct cpa_history_event *event;

	(void)state;
	begin();
	thread(0, 0);
	add(CPA_EV_LOCK, MUTEX, 10, 10);
	for (uint64_t i = 1; i < 4; i++) {
		add(CPA_EV_SLEEP, CONDITION, 20 * i, 20 * i)->other = MUTEX;
		event = add(CPA_EV_WAIT, CONDITION, 20 * i, 20 * i + 20);
		event->other = MUTEX;
		event->process = 0;
		if (i < 3) {
			event->failed = true;
			event->external = 20;
		} else {
			after(event, 2, 3);
		}
	}
	add(CPA_EV_UNLOCK, MUTEX, 80, 80);
	add(CPA_EV_EXIT, 0, 100, 100);
	thread(0, 0);
	add(CPA_EV_LOCK, MUTEX, 75, 75);
	add(CPA_EV_SIGNAL, CONDITION, 80, 80);
	add(CPA_EV_UNLOCK, MUTEX, 80, 80);
	add(CPA_EV_EXIT, 0, 80, 80);
	assert_int_equal(as_it_was(2), 100);
	assert_int_equal(transcript->weakness.polls, 2);
	assert_int_equal(transcript->weakness.timeouts, 0);
	assert_int_equal(transcript->weakness.pauses, 0);
	/* Without the signal each wait lasts as long as recorded. */
	made.event[0][7].failed = true;
	made.event[0][7].causes = 0;
	made.event[0][7].external = 20;
	as_it_was(2);
	assert_int_equal(transcript->weakness.polls, 0);
	assert_int_equal(transcript->weakness.timeouts, 3);
	assert_int_equal(transcript->weakness.pause_ticks, 60);
	assert_int_equal(transcript->weakness.unexplained, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_no_pool),
		cmocka_unit_test(test_polls),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
