/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/recorded.h - runs as recorded in a journal, made by hand and replayed
 *
 * Include after cmocka.h. A run is made thread by thread, event by event.
 */
#ifndef CPA_TESTS_UNIT_RECORDED_H
#define CPA_TESTS_UNIT_RECORDED_H

#include <string.h>

#include "analysis/predict/replay.h"
#include "analysis/predict/transcribe.h"

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

static inline void begin(void)
{
	memset(&made, 0, sizeof(made));
	made.run.thread = made.thread;
	made.run.start = START;
}

/*
 * Add an event at @now to the thread made last; it worked until it arrived, for a wait, at
 * @arrived.
 */
static inline struct cpa_history_event *add(uint8_t kind, uint32_t object, uint64_t arrived,
					    uint64_t now)
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

/* Make @event depend on event @number of thread @id. */
static inline void after(struct cpa_history_event *event, uint32_t id, uint32_t number)
{
	struct cpa_cause *cause = &made.cause[made.causes++];

	*cause = (struct cpa_cause){ .thread = id, .number = number };
	if (!event->causes++)
		event->cause = cause;
	event->matched = true;
}

/* Begin a thread at @now; @creator: number of the creating event in thread 1; 0: none. */
static inline void thread(uint64_t now, uint32_t creator)
{
	struct cpa_run_thread *one = &made.thread[made.run.threads];

	one->thread.id = (uint32_t)++made.run.threads;
	one->event = made.event[made.run.threads - 1];
	if (creator)
		after(add(CPA_EV_START, 0, now, now), 1, creator);
	else
		add(CPA_EV_START, 0, now, now);
}

static inline void charge(struct cpa_history_event *event, uint32_t slot, uint64_t ticks)
{
	struct cpa_charge *one = &made.charge[made.charges++];

	*one = (struct cpa_charge){ slot, ticks };
	if (!event->charges++)
		event->charge = one;
}

static struct cpa_transcript *transcript;

static inline uint64_t replayed(const struct cpa_changes *changes, uint32_t cores)
{
	uint32_t group[64] = { 0 };
	struct cpa_placement placement = { 1, &cores, 0, 64, group, 1, 1 };
	struct cpa_replay_result result;

	if (transcript)
		cpa_transcript_free(transcript);
	transcript = cpa_transcribe(&made.run, &cast, changes);
	result = cpa_replay(&transcript->script, &placement);
	assert_int_equal(result.forced, 0);
	return result.ticks;
}

static inline uint64_t as_it_was(uint32_t cores)
{
	const struct cpa_changes none = { 0 };

	return replayed(&none, cores);
}

/* Main waits on the condition, from 20 to 100. Return the WAIT. */
static inline struct cpa_history_event *make_wait(void)
{
	struct cpa_history_event *event;

	begin();
	thread(0, 0);
	add(CPA_EV_LOCK, MUTEX, 10, 10);
	add(CPA_EV_SLEEP, CONDITION, 20, 20)->other = MUTEX;
	event = add(CPA_EV_WAIT, CONDITION, 20, 100);
	event->other = MUTEX;
	add(CPA_EV_UNLOCK, MUTEX, 110, 110);
	add(CPA_EV_EXIT, 0, 130, 130);
	return event;
}

/* Main first creates @workers threads, or finally joins them. */
static inline void make_threads(uint32_t workers)
{
	begin();
	thread(0, 0);
	for (uint32_t w = 0; w < workers; w++)
		add(CPA_EV_CREATE, 0, 0, 0)->peer = w + 2;
}

static inline void join_threads(uint32_t workers, uint64_t arrived, uint64_t now)
{
	for (uint32_t w = 0; w < workers; w++)
		add(CPA_EV_JOIN, 0, w ? now : arrived, now)->peer = w + 2;
	add(CPA_EV_EXIT, 0, now, now);
	made.run.exit_thread = 1;
}

static inline int end(void **state)
{
	(void)state;
	cpa_transcript_free(transcript);
	return 0;
}

#endif
