/* SPDX-License-Identifier: MIT */
/*
 * tests/property/history.h - a synchronization history and its program activity graph
 *
 * A history is a record of a program with a few threads: its events in order of completion. It has
 * two readers. tests/property/online.h replays the operations and does not look at dependencies;
 * tests/property/pag.h takes the events as nodes of a graph with the dependencies and does not know
 * the operations. Nothing here comes from shadow/.
 *
 * An event ends the activity that leads to it from the thread's previous event (`local`). The
 * activity ended at `arrived`; from then to `now` the thread waited.
 */
#ifndef CPA_TESTS_HISTORY_H
#define CPA_TESTS_HISTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS	   6
#define OBJECTS	   16
#define FUNCTIONS  24
#define CLASSES	   6 /* lock classes */
#define QCLASSES   2 /* queue classes */
#define REGIONS	   3
#define SECTIONS   (CLASSES + QCLASSES + REGIONS)
#define ITEMS	   4
#define IN_WORK	   8 /* items that one thread processes at once; more drop the oldest */
#define ROUTINES   3
#define EXTERNALS  6
#define SITES	   THREADS
#define SAMPLES	   16
#define ACTIVITIES 4096
/* Clock at the begin of a history, ticks. */
static uint64_t start_clock = 1000;
#define CUTS 8 /* maximum number of pauses in profiling, plus 1 */

enum op {
	OP_START,
	OP_EXIT,
	OP_CREATE,
	OP_JOIN,
	OP_LOCK,
	OP_TRY_FAILED,
	OP_UNLOCK,
	OP_READ_LOCK,
	OP_READ_UNLOCK,
	OP_WRITE_LOCK,
	OP_WRITE_UNLOCK,
	OP_SLEEP, /* begin of a condition wait, releases the mutex */
	OP_WAIT,  /* its return */
	OP_SIGNAL,
	OP_BROADCAST,
	OP_POST,
	OP_SEM_WAIT,
	OP_ARRIVE,
	OP_LEAVE,
	OP_ONCE_DONE,
	OP_ONCE,
	OP_FUTEX_SLEEP,
	OP_FUTEX_WAIT,
	OP_FUTEX_WAKE,
	OP_EXTERNAL, /* return of a call that blocked, or end of a wait that no release explains */
	OP_ENQUEUE,
	OP_REFUSED, /* the queue was full: the thread's latest such item is not in it */
	OP_DEQUEUE,
	OP_DONE,
	OP_BEFORE, /* annotations: every AFTER depends on every BEFORE */
	OP_AFTER,
	OP_REGION,
	OP_REGION_END,
	OP_STOP,    /* last event of a part of the run */
	OP_RESTART, /* first event of a part of the run */
	OPS
};

static const char *const op_name[OPS] = {
	"start",    "exit",	 "create",     "join",	      "lock",	    "try-failed",
	"unlock",   "rd-lock",	 "rd-unlock",  "wr-lock",     "wr-unlock",  "sleep",
	"wait",	    "signal",	 "broadcast",  "post",	      "sem-wait",   "arrive",
	"leave",    "once-done", "once",       "futex-sleep", "futex-wait", "futex-wake",
	"external", "enqueue",	 "refused",    "dequeue",     "done",	    "before",
	"after",    "region",	 "region-end", "stop",	      "restart"
};

enum object_kind { MUTEX, RWLOCK, COND, SEM, BARRIER, ONCE, FUTEX, QUEUE, CELL, OBJECT_KINDS };

/*
 * Components in one numbering: functions, time without any sample, sections (lock classes, queue
 * classes, regions), start routines, external kinds, activities between two kinds of event.
 */
enum component {
	C_FUNCTION = 0,
	C_UNSAMPLED = C_FUNCTION + FUNCTIONS,
	C_LOCK = C_UNSAMPLED + 1,
	C_QUEUE = C_LOCK + CLASSES,
	C_REGION = C_QUEUE + QCLASSES,
	C_THREAD = C_REGION + REGIONS,
	C_EXTERNAL = C_THREAD + ROUTINES,
	C_ACTIVITY = C_EXTERNAL + EXTERNALS,
	COMPONENTS = C_ACTIVITY + ACTIVITIES
};

/* Whether external time of a kind weighs nothing in the inherent path. */
static const bool external_idle[EXTERNALS] = { false, false, false, true, true, true };

enum time_kind { T_PROCESS, T_EXTERNAL, T_RUNQUEUE, T_HANDOFF, T_PROBE, TIME_KINDS };

struct activity {
	uint64_t process, external, runqueue, probe;
	unsigned external_kind;
	unsigned held; /* bit i: section C_LOCK + i is active */
	int component; /* from C_ACTIVITY, or -1 */
	unsigned sampled;
	/* Samples; without any, all process time is `unsampled`. */
	unsigned function[SAMPLES], weight[SAMPLES];
	unsigned unsampled; /* a component */
};

struct event {
	enum op op;
	int thread, object, mutex; /* -1: none. `object` of create and join is a thread */
	unsigned site;
	uint64_t arrived, now;
	struct activity activity;
	/* Operands for the replay. */
	bool woken;
	unsigned most, granted, undone;
	unsigned item; /* or the region */
	int undoes;    /* of OP_REFUSED: the enqueue that it undoes */
	bool inner;    /* in a queue's own code: no edges in the inherent path */
	/* The graph. */
	int local;	  /* -1 for start */
	int first, count; /* range in history.pred; of equally long ones the first is chosen */
	int latest;	  /* predecessor that released last; -1: none */
	bool matched;	  /* a release explains the wait */
	bool check;	  /* compare the paths at this event */
	/* Parts of the run. */
	int part;
	uint64_t released; /* of OP_STOP: end of the observed path; otherwise: now */
	bool asleep;	   /* of OP_STOP: the thread is blocked and does not act */
	bool opens;	   /* of OP_RESTART: the first of its part */
	bool dark;	   /* of an unlock: the section ended with an earlier part */
};

enum sampling { SAMPLED, SPARSE, UNSAMPLED };

struct object {
	enum object_kind kind;
	int class;	  /* of queues: one of QCLASSES */
	bool own;	  /* belongs to a queue: no edges in the inherent path */
	int mutex;	  /* mutex used with a condition */
	unsigned initial; /* initial value of a semaphore */
	unsigned members; /* members of a barrier */
};

struct history {
	enum sampling sampling;
	unsigned threads, objects;
	unsigned routine[THREADS];
	bool detached[THREADS];
	int last[THREADS]; /* last event of each thread; -1: never started */
	/* The pauses, from [1] on; threads in order of their start. */
	int cuts, starts, start[THREADS];
	struct {
		uint64_t from, to;
	} cut[CUTS];
	struct object object[OBJECTS];
	int events, preds, room_events, room_preds;
	struct event *event;
	int *pred;
	/* Kinds of event; pairs of them form activity components. */
	int activities;
	struct {
		unsigned from, to;
	} activity[ACTIVITIES];
};

/* Kinds of event are (operation, site, class); class 0: no class. */
static inline unsigned node_of(const struct history *h, const struct event *e)
{
	int class = e->object < 0 || e->op <= OP_JOIN ? 0 : h->object[e->object].class + 1;

	return ((unsigned)e->op * SITES + e->site) * (CLASSES + 1) + (unsigned)class;
}

/* How long a thread that waited was ready at the end of the wait; drawn from the event's times. */
static inline uint64_t ready_of(const struct event *e)
{
	uint64_t length = e->now - e->arrived;

	return length ? (e->now * UINT64_C(0x9e3779b97f4a7c15) >> 33) % (length + 1) : 0;
}

static inline int activity_of(struct history *h, unsigned from, unsigned to)
{
	for (int i = 0; i < h->activities; i++)
		if (h->activity[i].from == from && h->activity[i].to == to)
			return C_ACTIVITY + i;
	if (h->activities == ACTIVITIES)
		abort();
	h->activity[h->activities].from = from;
	h->activity[h->activities].to = to;
	return C_ACTIVITY + h->activities++;
}

/* Return the ticks during which profiling was on up to @clock. */
static inline uint64_t clock_on(const struct history *h, uint64_t clock)
{
	uint64_t on = clock - start_clock;

	for (int i = 1; i <= h->cuts; i++) {
		if (clock >= h->cut[i].to)
			on -= h->cut[i].to - h->cut[i].from;
		else if (clock > h->cut[i].from)
			on -= clock - h->cut[i].from;
	}
	return on;
}

static inline void *grow(void *p, int need, int *room, size_t size)
{
	if (need <= *room)
		return p;
	*room = need * 2 + 64;
	p = realloc(p, (size_t)*room * size);
	if (!p)
		abort();
	return p;
}

/* Append an event; the pointer is valid until the next call. */
static inline struct event *history_event(struct history *h, enum op op, int thread)
{
	struct event *e;

	h->event = grow(h->event, h->events + 1, &h->room_events, sizeof(*h->event));
	e = &h->event[h->events++];
	memset(e, 0, sizeof(*e));
	e->op = op;
	e->thread = thread;
	e->object = e->mutex = e->local = e->latest = e->undoes = e->activity.component = -1;
	e->first = h->preds;
	return e;
}

/* Add a dependency of the last event on @pred (-1: none). */
static inline void history_pred(struct history *h, int pred)
{
	if (pred < 0)
		return;
	h->pred = grow(h->pred, h->preds + 1, &h->room_preds, sizeof(*h->pred));
	h->pred[h->preds++] = pred;
	h->event[h->events - 1].count++;
}

static inline void history_clear(struct history *h)
{
	h->events = h->preds = h->activities = 0;
	h->threads = h->objects = 0;
	h->cuts = h->starts = 0;
	memset(h->cut, 0, sizeof(h->cut));
	h->cut[0].to = start_clock;
}

static inline void history_print(const struct history *h)
{
	for (unsigned i = 0; i < h->objects; i++)
		printf("# object %u kind %d class %d%s mutex %d initial %u members %u\n", i,
		       h->object[i].kind, h->object[i].class, h->object[i].own ? " own" : "",
		       h->object[i].mutex, h->object[i].initial, h->object[i].members);
	for (int i = 1; i <= h->cuts; i++)
		printf("# cut %llu to %llu\n", (unsigned long long)h->cut[i].from,
		       (unsigned long long)h->cut[i].to);
	for (int i = 0; i < h->events; i++) {
		const struct event *e = &h->event[i];

		printf("# %3d T%d %-11s", i, e->thread, op_name[e->op]);
		printf(" object %2d mutex %2d item %u%s  %llu..%llu  cpu %llu ext %llu rq %llu probe %llu",
		       e->object, e->mutex, e->item, e->inner ? " inner" : "",
		       (unsigned long long)e->arrived, (unsigned long long)e->now,
		       (unsigned long long)e->activity.process,
		       (unsigned long long)e->activity.external,
		       (unsigned long long)e->activity.runqueue,
		       (unsigned long long)e->activity.probe);
		printf("  held %#x local %d preds", e->activity.held, e->local);
		for (int k = 0; k < e->count; k++)
			printf(" %d", h->pred[e->first + k]);
		printf(" latest %d%s%s\n", e->latest, e->matched ? " matched" : "",
		       e->check ? " checked" : "");
	}
}

#endif
