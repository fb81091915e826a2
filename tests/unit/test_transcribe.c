/* SPDX-License-Identifier: MIT */
/* tests/unit/test_transcribe.c - recorded runs, replayed as they were and changed */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/replay.h"
#include "analysis/transcribe.h"

#define START	1000
#define THREADS 8
#define EVENTS	256
#define SLOTS	8

enum { MUTEX = 1, CONDITION, SEMAPHORE, BARRIER, OWN, OWN_CONDITION, OBJECTS = OWN_CONDITION };
enum { QUEUE = 1 };
enum { LOCK_CLASS = 1, QUEUE_CLASS, CLASSES };
enum { FUNCTION_SLOT = 2, LOCK_SLOT, READ_SLOT };

static const uint8_t object_kind[] = { 0,	    CPA_MUTEX, CPA_COND, CPA_SEM,
				       CPA_BARRIER, CPA_MUTEX, CPA_COND };
static const uint32_t object_queue[] = { 0, 0, 0, 0, 0, QUEUE, QUEUE };
static const uint32_t queue_class[] = { 0, QUEUE_CLASS };
static const uint8_t slot_kind[SLOTS] = {
	[FUNCTION_SLOT] = CPA_FUNCTION, [LOCK_SLOT] = CPA_LOCK, [READ_SLOT] = CPA_EXTERNAL
};
static const struct cpa_cast cast = { .objects = OBJECTS,
				      .queues = 1,
				      .slots = SLOTS,
				      .components = CLASSES - 1,
				      .cores = 2,
				      .object_kind = object_kind,
				      .object_queue = object_queue,
				      .queue_class = queue_class,
				      .slot_kind = slot_kind };

static struct {
	struct cpa_run run;
	struct cpa_run_thread thread[THREADS];
	struct cpa_history_event event[THREADS][EVENTS];
	struct cpa_cause cause[THREADS * EVENTS];
	struct cpa_charge charge[THREADS * EVENTS];
	size_t causes, charges;
} made;

static void begin(void)
{
	memset(&made, 0, sizeof(made));
	made.run.thread = made.thread;
	made.run.start = START;
}

/* Of the thread made last, at @now; it worked until it arrived, for a wait, at @arrived. */
static struct cpa_history_event *add(uint8_t kind, uint32_t object, uint64_t arrived, uint64_t now)
{
	struct cpa_run_thread *thread = &made.thread[made.run.threads - 1];
	struct cpa_history_event *event = &thread->event[thread->events++];

	*event = (struct cpa_history_event){ .thread = thread->thread.id,
					     .number = (uint32_t)thread->events,
					     .kind = kind,
					     .object = object,
					     .class = object == MUTEX ? LOCK_CLASS : 0,
					     .arrived = START + arrived,
					     .now = START + now };
	if (thread->events > 1)
		event->process = event->arrived - event[-1].now;
	made.run.events++;
	return event;
}

/* @event came after the event number @number of thread @id. */
static void after(struct cpa_history_event *event, uint32_t id, uint32_t number)
{
	struct cpa_cause *cause = &made.cause[made.causes++];

	*cause = (struct cpa_cause){ .thread = id, .number = number };
	if (!event->causes++)
		event->cause = cause;
	event->matched = true;
}

/* A thread that begins at @now; @creator: the event's number in thread 1, 0: nobody's. */
static void thread(uint64_t now, uint32_t creator)
{
	struct cpa_run_thread *one = &made.thread[made.run.threads];

	one->thread.id = (uint32_t)++made.run.threads;
	one->event = made.event[made.run.threads - 1];
	if (creator)
		after(add(CPA_EV_START, 0, now, now), 1, creator);
	else
		add(CPA_EV_START, 0, now, now);
}

static void charge(struct cpa_history_event *event, uint32_t slot, uint64_t ticks)
{
	struct cpa_charge *one = &made.charge[made.charges++];

	*one = (struct cpa_charge){ slot, ticks };
	if (!event->charges++)
		event->charge = one;
}

static struct cpa_transcript *transcript;

static uint64_t replayed(const struct cpa_changes *changes, uint32_t cores)
{
	uint32_t group[64] = { 0 };
	struct cpa_placement placement = { 1, &cores, 0, 64, group };
	struct cpa_replay_result result;

	if (transcript)
		cpa_transcript_free(transcript);
	transcript = cpa_transcribe(&made.run, &cast, changes);
	result = cpa_replay(&transcript->script, &placement);
	assert_int_equal(result.forced, 0);
	return result.ticks;
}

static uint64_t as_it_was(uint32_t cores)
{
	const struct cpa_changes none = { 0 };

	return replayed(&none, cores);
}

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
	/* Half of each, and no reading; that is not what main waits for. */
	factor[LOCK_SLOT] = 0.5;
	factor[READ_SLOT] = 0;
	assert_int_equal(replayed(&changes, 2), 240 - 2 * 50);
	assert_int_equal(transcript->weakness.pauses, 0);
}

static void test_drop(void **state)
{
	const uint32_t locks[CLASSES] = { 1, 0, 1 };
	const struct cpa_changes changes = { .locks = locks };

	(void)state;
	make_locks();
	/* The thread has done at 15 + 15 + 100 + 5, main at 150 needs not wait for it. */
	assert_int_equal(replayed(&changes, 2), 155);
}

/* What lies between two events and is neither work nor waiting is the profiler's. */
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
	struct cpa_history_event *event;

	(void)state;
	begin();
	thread(0, 0);
	add(CPA_EV_LOCK, MUTEX, 10, 10);
	add(CPA_EV_SLEEP, CONDITION, 20, 20)->other = MUTEX;
	event = add(CPA_EV_WAIT, CONDITION, 20, 100);
	event->other = MUTEX;
	after(event, 2, 3);
	after(event, 2, 4);
	add(CPA_EV_UNLOCK, MUTEX, 110, 110);
	add(CPA_EV_EXIT, 0, 130, 130);
	thread(0, 0);
	add(CPA_EV_LOCK, MUTEX, 50, 50);
	add(CPA_EV_SIGNAL, CONDITION, 80, 80);
	add(CPA_EV_UNLOCK, MUTEX, 90, 90);
	add(CPA_EV_EXIT, 0, 95, 95);
	/* Woken at 80 + 10, it finds the lock just free. */
	assert_int_equal(as_it_was(2), 130);
	assert_int_equal(transcript->script.latency, 10);
	/* One signal, one wait: it behaved as a queue. */
	assert_int_equal(transcript->weakness.guessed, 1);
	assert_int_equal(transcript->weakness.conditions, 0);
	assert_int_equal(transcript->weakness.unexplained, 0);
}

/* Without a release the wait is a pause. */
static void test_unexplained(void **state)
{
	struct cpa_history_event *event;

	(void)state;
	begin();
	thread(0, 0);
	add(CPA_EV_LOCK, MUTEX, 10, 10);
	add(CPA_EV_SLEEP, CONDITION, 20, 20)->other = MUTEX;
	event = add(CPA_EV_WAIT, CONDITION, 20, 100);
	event->other = MUTEX;
	event->failed = true;
	add(CPA_EV_UNLOCK, MUTEX, 110, 110);
	add(CPA_EV_EXIT, 0, 130, 130);
	assert_int_equal(as_it_was(1), 130);
	assert_int_equal(transcript->weakness.unexplained, 1);
	assert_int_equal(transcript->weakness.unexplained_ticks, 80);
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

#define ITEMS 12

/* Main puts items 10 ticks apart; @workers threads got them in turn, and take 100 ticks each. */
static void make_queue(uint32_t workers)
{
	begin();
	thread(0, 0);
	for (uint32_t w = 0; w < workers; w++)
		add(CPA_EV_CREATE, 0, 0, 0)->peer = w + 2;
	for (uint32_t i = 0; i < ITEMS; i++) {
		add(CPA_EV_LOCK, OWN, 10 * i + 10, 10 * i + 10);
		add(CPA_EV_ENQUEUE, 0, 10 * i + 10, 10 * i + 10)->queue = QUEUE;
		add(CPA_EV_UNLOCK, OWN, 10 * i + 10, 10 * i + 10);
	}
	for (uint32_t w = 0; w < workers; w++)
		add(CPA_EV_JOIN, 0, w ? 10000 : 10 * ITEMS, 10000)->peer = w + 2;
	add(CPA_EV_EXIT, 0, 10000, 10000);
	made.run.exit_thread = 1;
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

#define TASKS	  8
#define LONG_TASK 700

/* The work of a task. */
static uint64_t task_ticks(uint32_t task)
{
	return task == 1 ? LONG_TASK : 100;
}

/*
 * Main puts tasks into a pool 10 ticks apart, and in the end says that there are no more; @workers
 * threads were told in advance who gets which, each waited for the first and the last, not for others.
 */
static void make_pool(uint32_t workers, const uint32_t *who)
{
	begin();
	thread(0, 0);
	for (uint32_t w = 0; w < workers; w++)
		add(CPA_EV_CREATE, 0, 0, 0)->peer = w + 2;
	for (uint32_t i = 0; i <= TASKS; i++) {
		uint64_t now = i == TASKS ? 5000 : 10 * i + 10;

		add(CPA_EV_LOCK, MUTEX, now, now);
		add(i == TASKS ? CPA_EV_BROADCAST : CPA_EV_SIGNAL, CONDITION, now + 1, now + 1);
		add(CPA_EV_UNLOCK, MUTEX, now + 2, now + 2);
		if (i + 1 == TASKS)
			add(CPA_EV_EXTERNAL, 0, 5000, 5000)->process = 0;
	}
	for (uint32_t w = 0; w < workers; w++)
		add(CPA_EV_JOIN, 0, 5010, 5010)->peer = w + 2;
	add(CPA_EV_EXIT, 0, 5010, 5010);
	made.run.exit_thread = 1;
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

/* Tasks of a pool of a mutex and a condition go to whoever is free, not to who got them then. */
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
	/* Where it takes no time, its worker takes half of the others; else the first had all seven. */
	assert_in_range(replayed(&changes, 4), 400, 450);
	make_pool(1, alone);
	as_it_was(4);
	/* One like the other: nothing is to be dealt. */
	assert_int_equal(transcript->weakness.guessed, TASKS + 1);
	assert_int_equal(transcript->script.object[0].deal, CPA_DEAL_COUNT);
}

/* A condition of which more was taken than could be there is none that counts. */
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

/* A wait that timed out and was begun again until the signal is one wait. */
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
	/* Without the signal each lasts as long as it did. */
	made.event[0][7].failed = true;
	made.event[0][7].causes = 0;
	made.event[0][7].external = 20;
	as_it_was(2);
	assert_int_equal(transcript->weakness.polls, 0);
	assert_int_equal(transcript->weakness.timeouts, 3);
	assert_int_equal(transcript->weakness.pause_ticks, 60);
	assert_int_equal(transcript->weakness.unexplained, 0);
}

static int end(void **state)
{
	(void)state;
	cpa_transcript_free(transcript);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unchanged),
		cmocka_unit_test(test_factors),
		cmocka_unit_test(test_drop),
		cmocka_unit_test(test_probes),
		cmocka_unit_test(test_condition),
		cmocka_unit_test(test_unexplained),
		cmocka_unit_test(test_semaphore_and_barrier),
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_workers),
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_no_pool),
		cmocka_unit_test(test_polls),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
