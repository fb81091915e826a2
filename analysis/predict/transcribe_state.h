/* SPDX-License-Identifier: MIT */
/* analysis/predict/transcribe_state.h - a script in the making, for the files that make it */
#ifndef CPA_ANALYSIS_PREDICT_TRANSCRIBE_STATE_H
#define CPA_ANALYSIS_PREDICT_TRANSCRIBE_STATE_H

#include "analysis/predict/transcribe.h"

#define SEVERAL UINT32_MAX /* queues */
#define POOL	(UINT32_MAX - 1)

struct transcribe_thread {
	uint32_t id;
	size_t base; /* of its events among all */
	/* Row of the queue whose items it gets, or SEVERAL; POOL: transcribe_pools(); 0: none. */
	uint32_t queue;
	size_t last_get; /* the event; if it has a queue */
	size_t tail;	 /* the event before which its dealings with a dealt queue end */
	double probe;	 /* of the time between its events that is not known otherwise */
	bool removed;	 /* a worker that the changed program does not have */
	uint32_t added;	 /* the first of those that begin and end when it does, */
	uint32_t addeds; /* so many */
};

struct transcribe_queue {
	uint32_t object; /* of the script */
	uint32_t lock;	 /* object row of its own lock, 0: none */
	uint32_t consumers;
	uint32_t first, last; /* threads that get its items */
	bool shared;	      /* with another queue, by a consumer */
	bool mixed;	      /* its consumers are of several classes */
	bool bounded;
};

/* What a condition's event is, if that is taken for a queue. */
enum transcribe_role { ROLE_NONE, ROLE_SKIP, ROLE_PUT, ROLE_GET };

struct transcribe_part {
	uint8_t role; /* enum transcribe_role */
	/* A wait that timed out, and was begun again until it was no longer necessary. */
	bool polled;
	uint32_t queue; /* object of the script */
	uint32_t item;	/* number + 1; 0: one is like the other */
};

/* A queue of the script that was guessed, and its own lock. */
struct transcribe_pool {
	uint32_t object; /* of the script */
	uint32_t mutex;	 /* object row */
};

struct transcribe {
	const struct cpa_run *run;
	const struct cpa_cast *cast;
	const struct cpa_changes *changes;
	struct cpa_transcript *out;
	struct transcribe_thread *thread; /* [run->threads] */
	struct transcribe_queue *queue;	  /* [cast->queues + 1] */
	uint32_t *by_id;		  /* threads, by id */
	uint32_t *number; /* [events]: of an enqueue its item + 1, of others their offer + 1 */
	struct transcribe_part *part; /* [events] */
	struct transcribe_pool *pool;
	size_t pools;
	/* By object row: the script's object + 1. */
	uint32_t *lock, *sem, *barrier;
	uint32_t step_room, object_room, item_room;
	uint64_t work; /* before the next step */
};

/* Index of the thread of @id; CPA_NOWHERE: it is not in the run. */
uint32_t transcribe_thread(const struct transcribe *t, uint32_t id);

/* The event that @cause names, and where its number is; NULL: it is not in the run. */
const struct cpa_history_event *transcribe_cause(const struct transcribe *t,
						 const struct cpa_cause *cause, uint32_t **number);

uint32_t transcribe_object(struct transcribe *t, enum cpa_script_kind kind, uint32_t count);

/* The queue whose own the object in row @object is; 0: of none, or it is not known. */
uint32_t transcribe_owner(const struct transcribe *t, uint32_t object);

/* enum cpa_object_kind; 0: it is not known. */
enum cpa_object_kind transcribe_kind(const struct transcribe *t, uint32_t object);

/*
 * @event came after @cause, and the replay has nothing else to know that by. (That a mutex was
 * given up is known by its lock.)
 */
bool transcribe_ordered(const struct transcribe *t, const struct cpa_history_event *event,
			const struct cpa_history_event *cause);

/* Append a step, behind the work that has come up. */
void transcribe_emit(struct transcribe *t, enum cpa_step_kind kind, uint32_t object,
		     uint64_t value);

/*
 * Ticks between @event, which is not the first of its thread, and the one before that nothing
 * accounts for: the profiler's own time, and waiting for a processor that the kernel did not tell.
 */
static inline uint64_t transcribe_gap(const struct cpa_history_event *event)
{
	uint64_t known = event[-1].now + event->process + event->external + event->runqueue;

	return event->arrived > known ? event->arrived - known : 0;
}

/* The activity of thread @which up to @event, not its first one; then what @event did. */
void transcribe_activity(struct transcribe *t, uint32_t which,
			 const struct cpa_history_event *event, const struct transcribe_part *part);
void transcribe_operation(struct transcribe *t, const struct cpa_history_event *event,
			  uint32_t number, const struct transcribe_part *part);

/* Find waits that time out and begin again. */
void transcribe_polls(struct transcribe *t);

/* Find how long a thread that is woken takes to go on. */
void transcribe_latency(struct transcribe *t);

/* A new item of a queue; its number + 1. */
uint32_t transcribe_item(struct transcribe *t);

/*
 * Find conditions that behave as queues: whoever comes first gets what was put there.
 * After transcribe_queues().
 */
void transcribe_pools(struct transcribe *t);

/* Find the queues, who gets their items, and which items. */
void transcribe_queues(struct transcribe *t);

/* Process and external ticks of @event's activity, as changed. */
void transcribe_weigh(const struct transcribe *t, const struct cpa_history_event *event,
		      uint64_t *process, uint64_t *external);

#endif
