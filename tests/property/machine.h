/* SPDX-License-Identifier: MIT */
/*
 * tests/property/machine.h - simulated threads and objects: their state, time, and events
 */
#ifndef CPA_TESTS_MACHINE_H
#define CPA_TESTS_MACHINE_H

#include "tests/property/history.h"
#include "tests/property/random.h"

#define NEVER UINT64_MAX
#define HELD  6

enum sim_state { ABSENT, READY, BLOCKED, ENDED, GONE };
enum item_order { FIFO, LIFO, ANY_ORDER, ITEM_ORDERS };
enum time_scale { TIES, NARROW, WIDE, HUGE_TIMES };

struct sim_thread {
	enum sim_state state;
	uint64_t next;	/* clock of its next step */
	uint64_t clock; /* clock of its last event */
	int last;	/* its last event */
	int created, parent;
	bool started, detached, had_samples;
	int held[HELD]; /* objects that it holds */
	unsigned holds;
	unsigned bright; /* bit i: held[i] was taken in this part of the run */
	bool inner;	 /* in a queue's own code */
	/* Items that it processes, latest last; regions that it is in. */
	struct {
		int object;
		unsigned item;
	} work[IN_WORK];
	unsigned works, region[REGIONS], regions;
	/* State while blocked. */
	enum op op;
	int object, mutex, round;
	uint64_t arrived;
	struct activity activity; /* the activity that ended at `arrived` */
	bool asleep, woken, doomed;
	bool fixed; /* dequeues `item`, whether or not it is in the queue */
	unsigned item;
	uint64_t deadline;
};

/* A list of events, oldest first. */
struct sim_list {
	int count, room, head;
	int *event;
};

struct sim_object {
	int holder, readers;	/* -1: no holder */
	int released;		/* event of the last release, of a rwlock by a writer; -1: none */
	struct sim_list reads;	/* later releases by readers */
	struct sim_list tokens; /* posts or signals; items in a queue; releases of a cell */
	unsigned value;		/* of a semaphore, including initial tokens */
	unsigned initial, granted, waiting;
	unsigned arrivals; /* of a barrier, all rounds */
	struct sim_list arrived;
	int once; /* 0: new, 1: routine running, 2: done */
	enum item_order order;
	bool done_used; /* the program has said that an item of the queue was done */
};

struct sim {
	struct history *h;
	struct rnd r;
	enum time_scale scale;
	int target;
	bool winding_down;
	bool items; /* the history has queues, regions and annotations */
	bool parts; /* profiling is switched off and on */
	/* a release is visible at its time stamp, and released threads continue at once */
	bool prompt;
	struct sim_list finals; /* last events of parts, in the order in which they become known */
	uint64_t now;
	struct sim_thread thread[THREADS];
	struct sim_object object[OBJECTS];
};

static void sim_push(struct sim_list *list, int event)
{
	list->event = grow(list->event, list->count + 1, &list->room, sizeof(int));
	list->event[list->count++] = event;
}

static int sim_pop(struct sim_list *list)
{
	return list->head < list->count ? list->event[list->head++] : -1;
}

static void sim_remove(struct sim_list *list, int i)
{
	list->count--;
	memmove(&list->event[i], &list->event[i + 1], (size_t)(list->count - i) * sizeof(int));
}

static void sim_empty(struct sim_list *list)
{
	list->count = list->head = 0;
}

/* A random number of ticks, on the scale of this history. */
static uint64_t sim_time(struct sim *s)
{
	unsigned how = (unsigned)rnd_below(&s->r, 10);

	switch (s->scale) {
	case TIES:
		return rnd_below(&s->r, 3);
	case NARROW:
		return rnd_below(&s->r, 12);
	case WIDE:
		return how < 2 ? 0 : rnd_below(&s->r, how < 7 ? 100 : 100000);
	case HUGE_TIMES: /* a delta of a path has 48 bits */
		return how < 2 ? 0 : rnd_below(&s->r, UINT64_C(1) << (how < 5 ? 49 : 46));
	}
	return 0;
}

/* Random ticks from a release until the released thread continues. */
static uint64_t sim_latency(struct sim *s)
{
	return s->prompt || rnd_percent(&s->r, 40) ? 0 : sim_time(s) / 2;
}

static uint64_t sim_part(struct sim *s, uint64_t *rest, unsigned percent)
{
	uint64_t part = rnd_percent(&s->r, percent) ? rnd_below(&s->r, *rest + 1) : 0;

	*rest -= part;
	return part;
}

static void sim_samples(struct sim *s, struct activity *a, int thread)
{
	struct sim_thread *t = &s->thread[thread];

	if (s->h->sampling == SAMPLED) {
		a->sampled = 1 + (unsigned)rnd_below(&s->r, rnd_percent(&s->r, 5) ? SAMPLES : 3);
		for (unsigned i = 0; i < a->sampled; i++) {
			a->function[i] = (unsigned)rnd_below(&s->r, FUNCTIONS);
			a->weight[i] = 1 + (unsigned)rnd_below(&s->r, 4);
		}
	} else if (s->h->sampling == SPARSE) {
		/* One function per thread: the positions of samples then do not matter. */
		a->unsampled = C_FUNCTION + (unsigned)thread;
		if (t->had_samples && rnd_percent(&s->r, 70))
			return;
		t->had_samples = true;
		a->sampled = 1;
		a->function[0] = (unsigned)thread;
		a->weight[0] = 1 + (unsigned)rnd_below(&s->r, 4);
	}
}

/* Return the sections that @thread is in, as bits. */
static unsigned sim_held(const struct sim *s, int thread)
{
	const struct sim_thread *t = &s->thread[thread];
	unsigned held = 0;

	for (unsigned i = 0; i < t->holds; i++)
		if (t->bright & 1u << t->held[i])
			held |= 1u << s->h->object[t->held[i]].class;
	for (unsigned i = 0; i < t->works; i++)
		held |= 1u << (CLASSES + s->h->object[t->work[i].object].class);
	for (unsigned i = 0; i < t->regions; i++)
		held |= 1u << (CLASSES + QCLASSES + t->region[i]);
	return held;
}

/* Return the activity of @thread from its last event to now. */
static struct activity sim_activity(struct sim *s, int thread)
{
	struct sim_thread *t = &s->thread[thread];
	struct activity a = { .unsampled = C_UNSAMPLED };
	uint64_t rest = s->now - t->clock;

	if (s->scale != TIES || rnd_percent(&s->r, 10)) {
		a.external = sim_part(s, &rest, 20);
		a.runqueue = sim_part(s, &rest, 20);
		a.probe = sim_part(s, &rest, 30);
	}
	a.process = rest;
	a.external_kind = (unsigned)rnd_below(&s->r, EXTERNALS);
	a.held = sim_held(s, thread);
	if (a.process)
		sim_samples(s, &a, thread);
	return a;
}

/* Append event @op of @thread, whose activity @a ended at @arrived; it returns at @now. */
static struct event *sim_event(struct sim *s, int thread, enum op op, int object,
			       const struct activity *a, uint64_t arrived, uint64_t now)
{
	struct sim_thread *t = &s->thread[thread];
	struct event *e = history_event(s->h, op, thread);

	e->object = object;
	e->site = s->h->sampling == SPARSE ? (unsigned)thread : (unsigned)rnd_below(&s->r, 2);
	e->arrived = arrived;
	e->now = now;
	if (a)
		e->activity = *a;
	e->local = t->last;
	e->check = rnd_percent(&s->r, 10);
	e->inner = t->inner;
	e->part = s->h->cuts;
	e->released = now;
	if (e->local >= 0)
		e->activity.component =
			activity_of(s->h, node_of(s->h, &s->h->event[e->local]), node_of(s->h, e));
	t->last = s->h->events - 1;
	t->clock = now;
	t->state = READY;
	t->next = now + sim_time(s);
	return e;
}

/* An event without a wait. */
static struct event *sim_instant(struct sim *s, int thread, enum op op, int object)
{
	struct activity a = sim_activity(s, thread);

	return sim_event(s, thread, op, object, &a, s->now, s->now);
}

/* Return the time stamp of a release; sometimes well before others can see the release. */
static uint64_t sim_stamp(struct sim *s, int thread)
{
	if (s->prompt || !rnd_percent(&s->r, 15))
		return s->now;
	return s->now - rnd_below(&s->r, s->now - s->thread[thread].clock + 1);
}

static struct event *sim_release_at(struct sim *s, int thread, enum op op, int object,
				    uint64_t stamp)
{
	uint64_t now = s->now;
	struct event *e;

	s->now = stamp;
	e = sim_instant(s, thread, op, object);
	s->now = now;
	if (s->thread[thread].next < now)
		s->thread[thread].next = now;
	return e;
}

static struct event *sim_release(struct sim *s, int thread, enum op op, int object)
{
	return sim_release_at(s, thread, op, object, sim_stamp(s, thread));
}

/* Append the event with which a blocked thread continues. */
static struct event *sim_return(struct sim *s, int thread)
{
	struct sim_thread *t = &s->thread[thread];

	return sim_event(s, thread, t->op, t->object, &t->activity, t->arrived, s->now);
}

static void sim_block(struct sim *s, int thread, enum op op, int object)
{
	struct sim_thread *t = &s->thread[thread];

	t->activity = sim_activity(s, thread);
	t->state = BLOCKED;
	t->op = op;
	t->object = object;
	t->arrived = s->now;
	t->next = NEVER;
}

/* Threads blocked on @object try again. */
static void sim_wake(struct sim *s, int object)
{
	for (int i = 0; i < THREADS; i++) {
		struct sim_thread *t = &s->thread[i];
		int on = t->op == OP_WAIT ? t->mutex : t->object;

		if (t->state == BLOCKED && t->op != OP_JOIN && !t->asleep && on == object &&
		    t->next == NEVER)
			t->next = s->now + sim_latency(s);
	}
}

static void sim_hold(struct sim *s, int thread, int object)
{
	struct sim_thread *t = &s->thread[thread];

	t->held[t->holds++] = object;
	t->bright |= 1u << object;
}

static void sim_unhold(struct sim *s, int thread, int object)
{
	struct sim_thread *t = &s->thread[thread];

	for (unsigned i = 0; i < t->holds; i++) {
		if (t->held[i] == object) {
			t->held[i] = t->held[--t->holds];
			t->bright &= ~(1u << object);
			return;
		}
	}
}

static bool sim_holds(const struct sim *s, int thread, int object)
{
	const struct sim_thread *t = &s->thread[thread];

	for (unsigned i = 0; i < t->holds; i++)
		if (t->held[i] == object)
			return true;
	return false;
}

static uint64_t sim_released(const struct sim *s, int event)
{
	return event < 0 ? 0 : s->h->event[event].now;
}

#endif
