/* SPDX-License-Identifier: MIT */
/*
 * analysis/predict/transcribe_state.h - what the stages that make a script share: they look up the recorded
 * run, and add steps to the script
 */
#ifndef CPA_ANALYSIS_PREDICT_TRANSCRIBE_STATE_H
#define CPA_ANALYSIS_PREDICT_TRANSCRIBE_STATE_H

#include "analysis/predict/transcribe.h"

#define SEVERAL UINT32_MAX /* several queues */
#define POOL	(UINT32_MAX - 1)

struct transcribe_thread {
	uint32_t id;
	size_t base; /* index of its first event among all events */
	/*
	 * Row of the queue whose items it gets, or SEVERAL; POOL: see transcribe_pools(); 0: none.
	 */
	uint32_t queue;
	size_t last_get; /* event of its last get, if it has a queue */
	size_t tail;	 /* event before which its work with a dealt queue ends */
	double probe;	 /* part of its unexplained time between events that is the profiler's */
	bool removed;	 /* a worker that the changed program lacks */
	uint32_t added;	 /* first of the workers that begin and end with it, */
	uint32_t addeds; /* and their number */
};

struct transcribe_queue {
	uint32_t object; /* in the script */
	uint32_t lock;	 /* object row of the queue's own lock; 0: none */
	uint32_t consumers;
	uint32_t first, last; /* threads that get its items */
	bool shared;	      /* a consumer also gets items of another queue */
	bool mixed;	      /* consumers are of several classes */
	bool bounded;
};

/* What becomes of an event, by its kind. */
enum transcribe_way {
	WAY_NONE,    /* no step */
	WAY_COUNTED, /* no step, and a limit of the prediction */
	WAY_CREATE,  /* of a thread or process */
	WAY_JOIN,
	WAY_LOCK,
	WAY_COND,
	WAY_TOKEN, /* barriers, semaphores */
	WAY_ITEM,
	WAY_ORDERED, /* a wait for the releases that it met; */
	WAY_STREAM,  /* the same, of a read, write or poll */
};

/* The role of an event of a condition that is replayed as a queue. */
enum transcribe_role { ROLE_NONE, ROLE_SKIP, ROLE_PUT, ROLE_GET };

struct transcribe_part {
	uint8_t role; /* enum transcribe_role */
	/* The wait timed out and was repeated until it was no longer needed. */
	bool polled;
	uint32_t queue; /* object in the script */
	uint32_t item;	/* number + 1; 0: all items are alike */
};

/* A queue of the script found by transcribe_pools(), and its lock. */
struct transcribe_pool {
	uint32_t object; /* in the script */
	uint32_t mutex;	 /* object row */
};

struct transcribe {
	const struct cpa_run *run;
	const struct cpa_cast *cast;
	const struct cpa_changes *changes;
	struct cpa_transcript *out;
	struct transcribe_thread *thread; /* [run->threads] */
	struct transcribe_queue *queue;	  /* [cast->queues + 1] */
	uint32_t *by_id;		  /* threads sorted by id */
	uint32_t *number; /* [events]: for an enqueue its item + 1, else its offer + 1 */
	struct transcribe_part *part; /* [events] */
	struct transcribe_pool *pool;
	size_t pools;
	/* By object row: object in the script + 1. */
	uint32_t *lock, *sem, *barrier;
	uint32_t step_room, object_room, item_room;
	uint64_t work; /* ticks before the next step */
	uint64_t ready; /* behind the item that the thread has waited for, ticks without a processor */
};

/* Index of the thread with @id; CPA_NOWHERE: not in the run. */
uint32_t transcribe_thread(const struct transcribe *t, uint32_t id);

/* The event of @cause, and the place of its number; NULL: not in the run. */
const struct cpa_history_event *transcribe_cause(const struct transcribe *t,
						 const struct cpa_cause *cause, uint32_t **number);

/* The queue that the object in row @object belongs to; 0: none, or not known. */
uint32_t transcribe_owner(const struct transcribe *t, uint32_t object);

/* enum cpa_object_kind; 0: not known. */
enum cpa_object_kind transcribe_kind(const struct transcribe *t, uint32_t object);

/* @kind: enum cpa_event_kind */
enum transcribe_way transcribe_way(uint8_t kind);

/*
 * Whether @event must be ordered after @cause by an offer, because nothing else in the replay does
 * it. (The release of a mutex is ordered by its lock.)
 */
bool transcribe_ordered(const struct transcribe *t, const struct cpa_history_event *event,
			const struct cpa_history_event *cause);

/*
 * Ticks between the previous event and @event, not its thread's first, that no figure explains: the
 * profiler's own time, and waiting for a processor that the kernel did not report.
 */
static inline uint64_t transcribe_gap(const struct cpa_history_event *event)
{
	uint64_t known = event[-1].now + event->process + event->external + event->runqueue;

	return event->arrived > known ? event->arrived - known : 0;
}

/* Add an object. Return its number. */
uint32_t transcribe_object(struct transcribe *t, enum cpa_script_kind kind, uint32_t count);

/* Make a new item of a queue. Return its number + 1. */
uint32_t transcribe_item(struct transcribe *t);

/* Append a step, after the work collected so far. */
void transcribe_emit(struct transcribe *t, enum cpa_step_kind kind, uint32_t object,
		     uint64_t value);

#endif
