/* SPDX-License-Identifier: MIT */
/*
 * tests/property/simulate.h - what synchronization objects let through, and who waited for whom
 *
 * A machine of its own: each thread has a clock time at which it acts next. An operation that
 * finds its object taken blocks the thread; a release sets the time at which those blocked look
 * again. Dependencies (which release let which acquire through) are written down here, by the
 * rules of POSIX and by order of signals and posts where POSIX leaves it open.
 */
#ifndef CPA_TESTS_SIMULATE_H
#define CPA_TESTS_SIMULATE_H

#include "tests/property/history.h"
#include "tests/property/random.h"

#define NEVER UINT64_MAX
#define HELD  6

enum sim_state { ABSENT, READY, BLOCKED, ENDED, GONE };
enum time_scale { TIES, NARROW, WIDE, HUGE_TIMES };

struct sim_thread {
	enum sim_state state;
	uint64_t next;	/* when it acts */
	uint64_t clock; /* of its last event */
	int last;	/* its last event */
	int created, parent;
	bool started, detached, had_samples;
	int held[HELD]; /* objects */
	unsigned holds;
	/* While blocked. */
	enum op op;
	int object, mutex, round;
	uint64_t arrived;
	struct activity activity; /* that ended at `arrived` */
	bool asleep, woken, doomed;
	uint64_t deadline;
};

/* A list of events, oldest first. */
struct sim_list {
	int count, room, head;
	int *event;
};

struct sim_object {
	int holder, readers;   /* holder -1: none */
	int released;	       /* last release, of a rwlock by a writer; -1 */
	struct sim_list reads; /* releases by readers since */
	struct sim_list tokens;
	unsigned value; /* of a semaphore, initial tokens included */
	unsigned initial, granted, waiting;
	unsigned arrivals; /* of a barrier, in all */
	struct sim_list arrived;
	int once; /* 0: new, 1: being done, 2: done */
};

struct sim {
	struct history *h;
	struct rnd r;
	enum time_scale scale;
	int target;
	bool winding_down;
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

static void sim_empty(struct sim_list *list)
{
	list->count = list->head = 0;
}

/* Some time, of the scale of this history. */
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

/* How long after a release the released go on. */
static uint64_t sim_latency(struct sim *s)
{
	return rnd_percent(&s->r, 40) ? 0 : sim_time(s) / 2;
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
		/* One function a thread: then it does not matter where the samples fall. */
		a->unsampled = C_FUNCTION + (unsigned)thread;
		if (t->had_samples && rnd_percent(&s->r, 70))
			return;
		t->had_samples = true;
		a->sampled = 1;
		a->function[0] = (unsigned)thread;
		a->weight[0] = 1 + (unsigned)rnd_below(&s->r, 4);
	}
}

/* The activity of @thread from its last event to now. */
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
	for (unsigned i = 0; i < t->holds; i++)
		a.held |= 1u << s->h->object[t->held[i]].class;
	if (a.process)
		sim_samples(s, &a, thread);
	return a;
}

/* Event @op of @thread, whose activity @a ended at @arrived; it returns at @now. */
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

/* A release. Some took their time stamp well before others can see them. */
static struct event *sim_release(struct sim *s, int thread, enum op op, int object)
{
	uint64_t now = s->now;
	struct event *e;

	if (rnd_percent(&s->r, 15))
		s->now -= rnd_below(&s->r, now - s->thread[thread].clock + 1);
	e = sim_instant(s, thread, op, object);
	s->now = now;
	if (s->thread[thread].next < now)
		s->thread[thread].next = now;
	return e;
}

/* The event by which a blocked thread goes on. */
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

/* Those blocked on @object look again. */
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
}

static void sim_unhold(struct sim *s, int thread, int object)
{
	struct sim_thread *t = &s->thread[thread];

	for (unsigned i = 0; i < t->holds; i++) {
		if (t->held[i] == object) {
			t->held[i] = t->held[--t->holds];
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

/* Dependencies on all of @list, the newest first; the latest of them. */
static int sim_depend(struct sim *s, const struct sim_list *list, int from, int to)
{
	int latest = -1;

	for (int i = to; i-- > from;) {
		history_pred(s->h, list->event[i]);
		if (latest < 0 || sim_released(s, list->event[i]) > sim_released(s, latest))
			latest = list->event[i];
	}
	return latest;
}

/* May the blocked thread go on? If so it does. One function for each kind of acquire. */

static void sim_try_lock(struct sim *s, int thread)
{
	struct sim_thread *t = &s->thread[thread];
	struct sim_object *o = &s->object[t->object];
	int object = t->object;
	struct event *e;

	if (o->holder >= 0)
		return;
	e = sim_return(s, thread);
	history_pred(s->h, o->released);
	e->latest = o->released;
	e->matched = true;
	o->holder = thread;
	sim_hold(s, thread, object);
}

static void sim_try_read_lock(struct sim *s, int thread)
{
	struct sim_object *o = &s->object[s->thread[thread].object];
	int object = s->thread[thread].object;
	struct event *e;

	if (o->holder >= 0)
		return;
	e = sim_return(s, thread);
	history_pred(s->h, o->released);
	e->latest = o->released;
	e->matched = true;
	o->readers++;
	sim_hold(s, thread, object);
}

static void sim_try_write_lock(struct sim *s, int thread)
{
	struct sim_object *o = &s->object[s->thread[thread].object];
	int object = s->thread[thread].object, reader;
	struct event *e;

	if (o->holder >= 0 || o->readers)
		return;
	e = sim_return(s, thread);
	reader = sim_depend(s, &o->reads, 0, o->reads.count);
	history_pred(s->h, o->released);
	e->latest = sim_released(s, reader) > sim_released(s, o->released) ? reader : o->released;
	e->matched = true;
	sim_empty(&o->reads);
	o->holder = thread;
	sim_hold(s, thread, object);
}

static void sim_try_sem(struct sim *s, int thread)
{
	struct sim_object *o = &s->object[s->thread[thread].object];
	struct event *e;

	if (!o->value)
		return;
	o->value--;
	e = sim_return(s, thread);
	e->matched = true;
	if (o->initial) {
		o->initial--;
	} else {
		e->latest = sim_pop(&o->tokens);
		history_pred(s->h, e->latest);
	}
}

static void sim_try_leave(struct sim *s, int thread)
{
	struct sim_thread *t = &s->thread[thread];
	struct sim_object *o = &s->object[t->object];
	int members = (int)s->h->object[t->object].members;
	struct event *e;

	if (o->arrived.count < (t->round + 1) * members)
		return;
	e = sim_return(s, thread);
	e->latest = sim_depend(s, &o->arrived, t->round * members, (t->round + 1) * members);
	e->matched = true;
}

static void sim_try_once(struct sim *s, int thread)
{
	struct sim_object *o = &s->object[s->thread[thread].object];
	struct event *e;

	if (o->once != 2)
		return;
	e = sim_return(s, thread);
	e->latest = o->released;
	e->matched = true;
	history_pred(s->h, o->released);
}

static void sim_try_join(struct sim *s, int thread)
{
	struct sim_thread *child = &s->thread[s->thread[thread].object];
	struct event *e;

	if (child->state != ENDED)
		return;
	child->state = GONE;
	e = sim_return(s, thread);
	e->latest = child->last;
	e->matched = true;
	history_pred(s->h, child->last);
}

/* Time that no release explains is external. @mutex is held from its end, if not -1. */
static void sim_unexplained(struct sim *s, int thread, uint64_t from, uint64_t to, int mutex)
{
	struct activity a = { .unsampled = C_UNSAMPLED, .external = to - from };
	struct sim_thread *t = &s->thread[thread];

	a.external_kind = (unsigned)rnd_below(&s->r, EXTERNALS);
	for (unsigned i = 0; i < t->holds; i++)
		a.held |= 1u << s->h->object[t->held[i]].class;
	if (to > from)
		sim_event(s, thread, OP_EXTERNAL, -1, &a, to, to)->mutex = mutex;
}

/* A condition or futex wait ends: who was woken takes the oldest token if one is granted. */
static void sim_end_wait(struct sim *s, int thread)
{
	struct sim_thread *t = &s->thread[thread];
	struct sim_object *o = &s->object[t->object];
	int mutex = t->op == OP_WAIT ? t->mutex : -1;
	int unlocked = mutex < 0 ? -1 : s->object[mutex].released, token = -1;
	bool woken = t->woken;
	uint64_t arrived = t->arrived;
	struct event *e;

	if (o->granted && (woken || !o->waiting)) {
		o->granted--;
		token = sim_pop(&o->tokens);
		if (!woken)
			token = -1;
	} else if (o->waiting) {
		o->waiting--;
	}
	if (!woken && t->deadline <= s->now) {
		/* The time up to the deadline is no wait for others. */
		enum op op = t->op;
		int object = t->object;

		sim_unexplained(s, thread, t->arrived, t->deadline, -1);
		arrived = t->arrived = t->deadline;
		t->op = op;
		t->object = object;
	}
	e = sim_return(s, thread);
	e->woken = woken;
	e->mutex = mutex;
	history_pred(s->h, token);
	history_pred(s->h, unlocked);
	e->latest = sim_released(s, token) > sim_released(s, unlocked) ? token : unlocked;
	e->matched = token >= 0 || sim_released(s, unlocked) > arrived;
	if (!e->matched)
		sim_unexplained(s, thread, arrived, s->now, mutex);
	if (mutex >= 0) {
		s->object[mutex].holder = thread;
		sim_hold(s, thread, mutex);
	}
}

static void sim_try_wait(struct sim *s, int thread)
{
	struct sim_thread *t = &s->thread[thread];

	t->asleep = false; /* woken or out of time: now it is the mutex it waits for */
	if (t->deadline == NEVER && !t->doomed)
		t->woken = true; /* or so it looks: a spurious wake-up */
	if (t->op == OP_WAIT && s->object[t->mutex].holder >= 0)
		return;
	sim_end_wait(s, thread);
}

static void sim_try(struct sim *s, int thread)
{
	s->thread[thread].next = NEVER;
	switch (s->thread[thread].op) {
	case OP_LOCK:
		return sim_try_lock(s, thread);
	case OP_READ_LOCK:
		return sim_try_read_lock(s, thread);
	case OP_WRITE_LOCK:
		return sim_try_write_lock(s, thread);
	case OP_SEM_WAIT:
		return sim_try_sem(s, thread);
	case OP_LEAVE:
		return sim_try_leave(s, thread);
	case OP_ONCE:
		return sim_try_once(s, thread);
	case OP_JOIN:
		return sim_try_join(s, thread);
	case OP_WAIT:
	case OP_FUTEX_WAIT:
		return sim_try_wait(s, thread);
	default:
		abort();
	}
}

/* Most acquires try at once; some are slow to get there. */
static void sim_acquire(struct sim *s, int thread, enum op op, int object)
{
	sim_block(s, thread, op, object);
	if (rnd_percent(&s->r, 85))
		sim_try(s, thread);
	else
		s->thread[thread].next = s->now + sim_latency(s);
}

/* Let up to @most sleepers go; the number of those that were. */
static unsigned sim_wake_sleepers(struct sim *s, int object, unsigned most)
{
	unsigned start = (unsigned)rnd_below(&s->r, THREADS), n = 0;

	for (unsigned i = 0; i < THREADS && n < most; i++) {
		struct sim_thread *t = &s->thread[(start + i) % THREADS];

		if (t->state != BLOCKED || !t->asleep || t->object != object || t->doomed)
			continue;
		t->asleep = false;
		t->woken = true;
		t->next = s->now + sim_latency(s);
		n++;
	}
	return n;
}

/* Tokens for up to @most waiters. */
static unsigned sim_grant(struct sim_object *o, int event, unsigned most)
{
	unsigned n = o->waiting < most ? o->waiting : most;

	for (unsigned i = 0; i < n; i++)
		sim_push(&o->tokens, event);
	o->waiting -= n;
	o->granted += n;
	return n;
}

#endif
