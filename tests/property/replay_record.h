/* SPDX-License-Identifier: MIT */
/*
 * tests/property/replay_record.h - the journal that a slow replay would write
 *
 * Hooks of replay_slow.h that record each operation as an event, so that the simulated program can
 * be transcribed and replayed like a recorded run.
 */
#ifndef CPA_TESTS_REPLAY_RECORD_H
#define CPA_TESTS_REPLAY_RECORD_H

#include "analysis/predict/transcribe.h"
#include "tests/unit/script_maker.h"

#define RECORD_EVENTS 512

struct record_release {
	uint32_t thread, number; /* 0: none yet */
};

static struct record {
	bool full; /* some thread had more events than there is space for */
	struct cpa_run run;
	struct cpa_run_thread thread[MAKER_THREADS];
	struct cpa_history_event event[MAKER_THREADS][RECORD_EVENTS];
	struct cpa_cause cause[MAKER_THREADS][RECORD_EVENTS];
	/* clock at which each thread arrived at its present operation */
	uint64_t arrived[MAKER_THREADS];
	bool begun[MAKER_THREADS];
	struct record_release offer[MAKER_STEPS], item[MAKER_ITEMS], create[MAKER_THREADS];
	struct record_release post[MAKER_STEPS]; /* posts of the one semaphore */
	uint32_t posts, takes;
} record;

static inline void record_begin(uint32_t threads)
{
	memset(&record, 0, sizeof(record));
	record.run.threads = threads;
	record.run.thread = record.thread;
	for (uint32_t i = 0; i < threads; i++) {
		record.thread[i].thread.id = i + 1;
		record.thread[i].event = record.event[i];
	}
}

/* The thread is about to begin the operation, or to try again after it was woken. */
static inline void record_arrival(uint32_t thread, uint64_t now)
{
	if (!record.begun[thread])
		record.arrived[thread] = now;
	record.begun[thread] = true;
}

static inline struct cpa_history_event *record_event(uint32_t thread, uint8_t kind, uint32_t object,
						     uint64_t now)
{
	struct cpa_run_thread *row = &record.thread[thread];
	struct cpa_history_event *event = &row->event[row->events];
	uint64_t arrived = record.begun[thread] ? record.arrived[thread] : now;

	if (row->events + 2 >= RECORD_EVENTS)
		record.full = true;
	else
		row->events++;
	*event = (struct cpa_history_event){ .thread = thread + 1,
					     .number = (uint32_t)row->events,
					     .kind = kind,
					     .object = object + 1,
					     .arrived = arrived,
					     .now = now };
	if (row->events > 1)
		event->process = arrived - event[-1].now;
	record.run.events++;
	return event;
}

static inline void record_cause(struct cpa_history_event *event, struct record_release from)
{
	struct cpa_cause *cause = &record.cause[event->thread - 1][event->number - 1];

	if (!from.number)
		return;
	*cause = (struct cpa_cause){ .thread = from.thread, .number = from.number };
	event->causes = 1;
	event->cause = cause;
	event->matched = true;
}

static inline void record_start(uint32_t thread, uint64_t now, bool created)
{
	struct cpa_history_event *event = record_event(thread, CPA_EV_START, 0, now);

	if (created)
		record_cause(event, record.create[thread]);
}

/* @item: number of the item that a GET took; UINT64_MAX: none. @members: of the object. */
static inline void record_operation(uint32_t thread, const struct cpa_step *step, uint64_t now,
				    uint64_t item, uint32_t members)
{
	static const uint8_t kinds[CPA_STEPS] = {
		[CPA_STEP_EXIT] = CPA_EV_EXIT,	    [CPA_STEP_NONE] = CPA_EV_MARK,
		[CPA_STEP_PAUSE] = CPA_EV_EXTERNAL, [CPA_STEP_LOCK] = CPA_EV_LOCK,
		[CPA_STEP_UNLOCK] = CPA_EV_UNLOCK,  [CPA_STEP_READ] = CPA_EV_RDLOCK,
		[CPA_STEP_OFFER] = CPA_EV_BEFORE,   [CPA_STEP_AWAIT] = CPA_EV_AFTER,
		[CPA_STEP_POST] = CPA_EV_POST,	    [CPA_STEP_TAKE] = CPA_EV_SEM_WAIT,
		[CPA_STEP_ARRIVE] = CPA_EV_ARRIVE,  [CPA_STEP_CREATE] = CPA_EV_CREATE,
		[CPA_STEP_JOIN] = CPA_EV_JOIN,	    [CPA_STEP_PUT] = CPA_EV_ENQUEUE,
		[CPA_STEP_GET] = CPA_EV_DEQUEUE,
	};
	uint64_t end = step->kind == CPA_STEP_ARRIVE ? record.arrived[thread] : now;
	bool nothing = step->kind == CPA_STEP_GET && item == UINT64_MAX;
	uint8_t kind = nothing ? CPA_EV_DONE : kinds[step->kind];
	struct cpa_history_event *event;
	struct record_release here;

	event = record_event(thread, kind, step->object, end);
	record.begun[thread] = false;
	here = (struct record_release){ thread + 1, event->number };
	switch ((enum cpa_step_kind)step->kind) {
	case CPA_STEP_PAUSE:
		event->external = step->value;
		event->arrived = event->now = now + step->value;
		break;
	case CPA_STEP_OFFER:
		record.offer[step->object] = here;
		break;
	case CPA_STEP_AWAIT:
		record_cause(event, record.offer[step->object]);
		break;
	case CPA_STEP_LOCK:
	case CPA_STEP_UNLOCK:
	case CPA_STEP_READ:
		event->class = step->object + 1;
		break;
	case CPA_STEP_POST:
		record.post[record.posts++] = here;
		break;
	case CPA_STEP_TAKE:
		/* First the initial tokens. */
		event->matched = true;
		if (record.takes++ >= members)
			record_cause(event, record.post[record.takes - members - 1]);
		break;
	case CPA_STEP_CREATE:
		event->peer = step->object + 1;
		if (!record.create[step->object].number)
			record.create[step->object] = here;
		break;
	case CPA_STEP_JOIN:
		event->peer = step->object + 1;
		break;
	case CPA_STEP_PUT:
		event->queue = step->object + 1;
		record.item[step->value] = here;
		break;
	case CPA_STEP_GET:
		event->queue = step->object + 1;
		if (!nothing)
			record_cause(event, record.item[item]);
		break;
	case CPA_STEP_ARRIVE:
		event->count = members;
		event = record_event(thread, CPA_EV_LEAVE, step->object, now);
		event->arrived = end;
		event->process = 0;
		break;
	default:
		break;
	}
}

#endif
