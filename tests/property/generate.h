/* SPDX-License-Identifier: MIT */
/*
 * tests/property/generate.h - random programs: the next step of each thread
 *
 * Threads have no script. Each picks a step that is allowed in its state; locks are taken in order
 * of their numbers, or else only tried. Near the end all threads release their locks, wake sleepers
 * and exit. If all threads are blocked nevertheless, a sleeper times out; if there is no sleeper,
 * the history ends with its threads blocked.
 */
#ifndef CPA_TESTS_GENERATE_H
#define CPA_TESTS_GENERATE_H

#include "tests/property/cut.h"

/* Return whether @thread may block on lock @object without a cycle of waiters. */
static bool gen_in_order(const struct sim *s, int thread, int object)
{
	const struct sim_thread *t = &s->thread[thread];

	for (unsigned i = 0; i < t->holds; i++)
		if (t->held[i] >= object)
			return false;
	return t->holds < HELD;
}

static bool gen_lock(struct sim *s, int thread)
{
	int object = gen_object(s, MUTEX);

	if (object < 0 || sim_holds(s, thread, object) || s->thread[thread].holds == HELD)
		return false;
	if (gen_in_order(s, thread, object) && rnd_percent(&s->r, 90)) {
		sim_acquire(s, thread, OP_LOCK, object);
	} else if (s->object[object].holder >= 0) {
		sim_instant(s, thread, OP_TRY_FAILED, object);
	} else {
		sim_block(s, thread, OP_LOCK, object);
		sim_try(s, thread);
	}
	return true;
}

static bool gen_rwlock(struct sim *s, int thread)
{
	int object = gen_object(s, RWLOCK);

	if (object < 0 || sim_holds(s, thread, object) || !gen_in_order(s, thread, object))
		return false;
	sim_acquire(s, thread, rnd_percent(&s->r, 60) ? OP_READ_LOCK : OP_WRITE_LOCK, object);
	return true;
}

static bool gen_unlock(struct sim *s, int thread)
{
	struct sim_thread *t = &s->thread[thread];
	int object;
	struct sim_object *o;
	bool dark;

	if (!t->holds)
		return false;
	object = t->held[rnd_below(&s->r, t->holds)];
	o = &s->object[object];
	dark = !(t->bright & 1u << object);
	if (s->h->object[object].kind == MUTEX) {
		sim_release(s, thread, OP_UNLOCK, object);
		o->released = t->last;
		o->holder = -1;
	} else if (o->holder == thread) {
		sim_release(s, thread, OP_WRITE_UNLOCK, object);
		o->released = t->last;
		o->holder = -1;
	} else {
		sim_release(s, thread, OP_READ_UNLOCK, object);
		sim_push(&o->reads, t->last);
		o->readers--;
	}
	s->h->event[t->last].dark = dark;
	sim_unhold(s, thread, object);
	sim_wake(s, object);
	return true;
}

/* Sleep on @object until woken or, in some cases, until a time-out. */
static void gen_sleep(struct sim *s, int thread, enum op op, int object, int mutex)
{
	struct sim_thread *t = &s->thread[thread];

	s->object[object].waiting++;
	sim_block(s, thread, op, object);
	t->mutex = mutex;
	t->asleep = true;
	t->woken = false;
	t->doomed = false;
	t->deadline = NEVER;
	if (rnd_percent(&s->r, 25)) {
		t->deadline = s->now + sim_time(s);
		t->next = t->deadline + sim_latency(s);
	} else if (rnd_percent(&s->r, 3)) {
		t->next = s->now + sim_time(s); /* a spurious wake-up */
	}
}

static bool gen_cond_wait(struct sim *s, int thread)
{
	int object = gen_object(s, COND), mutex;
	struct event *e;

	if (object < 0)
		return false;
	mutex = s->h->object[object].mutex;
	if (!sim_holds(s, thread, mutex) || s->thread[thread].holds > 1)
		return false;
	e = sim_instant(s, thread, OP_SLEEP, object);
	e->mutex = mutex;
	e->dark = !(s->thread[thread].bright & 1u << mutex);
	s->object[mutex].released = s->thread[thread].last;
	s->object[mutex].holder = -1;
	sim_unhold(s, thread, mutex);
	sim_wake(s, mutex);
	gen_sleep(s, thread, OP_WAIT, object, mutex);
	return true;
}

static bool gen_signal(struct sim *s, int thread, bool all)
{
	int object = gen_object(s, COND);
	struct event *e;

	if (object < 0)
		return false;
	e = sim_release(s, thread, all ? OP_BROADCAST : OP_SIGNAL, object);
	e->most = all ? UINT32_MAX : 1;
	e->granted = sim_grant(&s->object[object], s->thread[thread].last, e->most);
	sim_wake_sleepers(s, object, e->most);
	return true;
}

static bool gen_futex_wait(struct sim *s, int thread)
{
	int object = gen_object(s, FUTEX);
	struct sim_thread *t = &s->thread[thread];

	if (object < 0 || t->holds)
		return false;
	sim_instant(s, thread, OP_FUTEX_SLEEP, object);
	gen_sleep(s, thread, OP_FUTEX_WAIT, object, -1);
	/* The word has changed already: the thread counts as a waiter but will not sleep. */
	if (rnd_percent(&s->r, 30)) {
		t->doomed = true;
		t->deadline = NEVER;
		t->next = s->now + sim_time(s);
	}
	return true;
}

static bool gen_futex_wake(struct sim *s, int thread, unsigned most)
{
	int object = gen_object(s, FUTEX);
	unsigned sleepers = 0, granted;
	struct sim_object *o;
	struct event *e;

	if (object < 0)
		return false;
	o = &s->object[object];
	for (int i = 0; i < THREADS; i++)
		if (s->thread[i].state == BLOCKED && s->thread[i].asleep &&
		    s->thread[i].object == object && !s->thread[i].doomed)
			sleepers++;
	sleepers = sleepers < most ? sleepers : most;
	granted = o->waiting < most ? o->waiting : most;
	/* The oldest grant is taken back: exact only if no other grant is pending. */
	if (granted > sleepers && o->granted)
		return false;
	e = sim_release(s, thread, OP_FUTEX_WAKE, object);
	e->most = most;
	e->granted = granted;
	sim_grant(o, s->thread[thread].last, most);
	sim_wake_sleepers(s, object, most);
	e->undone = granted > sleepers ? granted - sleepers : 0;
	for (unsigned i = 0; i < e->undone; i++) {
		sim_pop(&o->tokens);
		o->granted--;
		o->waiting++;
	}
	return true;
}

static bool gen_sem(struct sim *s, int thread, bool post)
{
	int object = gen_object(s, SEM);
	struct sim_object *o = &s->object[object < 0 ? 0 : object];

	if (object < 0)
		return false;
	if (post) {
		sim_release(s, thread, OP_POST, object);
		sim_push(&o->tokens, s->thread[thread].last);
		o->value++;
		sim_wake(s, object);
	} else {
		sim_acquire(s, thread, OP_SEM_WAIT, object);
	}
	return true;
}

/*
 * Return the oldest round of barrier @object that some thread has yet to leave, or the current one.
 */
static unsigned gen_oldest_round(const struct sim *s, int object)
{
	unsigned oldest = s->object[object].arrivals / s->h->object[object].members;

	for (int i = 0; i < THREADS; i++) {
		const struct sim_thread *t = &s->thread[i];

		if (t->state == BLOCKED && t->op == OP_LEAVE && t->object == object &&
		    (unsigned)t->round < oldest)
			oldest = (unsigned)t->round;
	}
	return oldest;
}

static bool gen_barrier(struct sim *s, int thread)
{
	int object = gen_object(s, BARRIER);
	unsigned members, round;
	struct sim_object *o;

	if (object < 0 || s->thread[thread].holds)
		return false;
	o = &s->object[object];
	members = s->h->object[object].members;
	round = o->arrivals / members;
	/* A thread four rounds late finds its round dropped; not tested here. */
	if (round > gen_oldest_round(s, object) + 3)
		return false;
	sim_release(s, thread, OP_ARRIVE, object);
	sim_push(&o->arrived, s->thread[thread].last);
	sim_block(s, thread, OP_LEAVE, object);
	s->thread[thread].round = (int)round;
	s->thread[thread].asleep = false;
	if (++o->arrivals % members == 0)
		sim_wake(s, object);
	return true;
}

static bool gen_once(struct sim *s, int thread)
{
	int object = gen_object(s, ONCE);
	struct sim_object *o = &s->object[object < 0 ? 0 : object];

	if (object < 0)
		return false;
	if (o->once == 0) {
		/* The once routine is the activity that ends with the next event. */
		o->once = 1;
		o->holder = thread;
		return false;
	}
	if (o->once == 1 && o->holder == thread) {
		sim_release(s, thread, OP_ONCE_DONE, object);
		o->released = s->thread[thread].last;
		o->once = 2;
		sim_wake(s, object);
	} else if (o->once == 2 || !s->thread[thread].holds) {
		sim_acquire(s, thread, OP_ONCE, object);
	} else {
		return false;
	}
	return true;
}

static bool gen_create(struct sim *s, int thread)
{
	for (int i = 1; i < (int)s->h->threads; i++) {
		struct sim_thread *t = &s->thread[i];

		if (t->state != ABSENT)
			continue;
		sim_release(s, thread, OP_CREATE, i);
		t->state = BLOCKED;
		t->op = OP_START;
		t->object = -1;
		t->parent = thread;
		t->created = s->thread[thread].last;
		t->next = s->now + sim_latency(s);
		t->detached = rnd_percent(&s->r, 10);
		s->h->detached[i] = t->detached;
		return true;
	}
	return false;
}

static void gen_start(struct sim *s, int thread)
{
	struct sim_thread *t = &s->thread[thread];
	struct event *e;

	t->last = -1;
	t->started = true;
	s->h->start[s->h->starts++] = thread;
	e = sim_event(s, thread, OP_START, -1, NULL, 0, s->now);
	if (thread) {
		e->latest = t->created;
		e->matched = true;
		history_pred(s->h, t->created);
	}
}

/* Only younger threads are joined, to avoid cycles. */
static bool gen_join(struct sim *s, int thread)
{
	for (int i = thread + 1; i < THREADS; i++) {
		struct sim_thread *t = &s->thread[i];
		bool wanted = false;

		for (int k = 0; k < THREADS; k++)
			wanted |= s->thread[k].state == BLOCKED && s->thread[k].op == OP_JOIN &&
				  s->thread[k].object == i;
		if (t->state == ABSENT || t->state == GONE || t->detached || wanted)
			continue;
		sim_block(s, thread, OP_JOIN, i);
		sim_try(s, thread);
		return true;
	}
	return false;
}

static bool gen_exit(struct sim *s, int thread)
{
	struct sim_thread *t = &s->thread[thread];

	for (unsigned i = 0; i < s->h->objects; i++)
		if (s->object[i].once == 1 && s->object[i].holder == thread)
			return false;
	if (t->holds)
		return false;
	sim_instant(s, thread, OP_EXIT, -1);
	t->state = t->detached ? GONE : ENDED;
	t->next = NEVER;
	for (int i = 0; i < THREADS; i++)
		if (s->thread[i].state == BLOCKED && s->thread[i].op == OP_JOIN &&
		    s->thread[i].object == thread)
			s->thread[i].next = s->now + sim_latency(s);
	return true;
}

static bool gen_any(struct sim *s, int thread)
{
	unsigned what = (unsigned)rnd_below(&s->r, 100);

	if (s->thread[thread].holds == 1 && rnd_percent(&s->r, 20) && gen_cond_wait(s, thread))
		return true;
	if (s->thread[thread].holds && rnd_percent(&s->r, 40))
		return gen_unlock(s, thread);
	if (s->items && rnd_percent(&s->r, 40))
		return gen_items(s, thread);
	if (what < 22)
		return gen_lock(s, thread);
	if (what < 34)
		return gen_rwlock(s, thread);
	if (what < 44)
		return gen_cond_wait(s, thread);
	if (what < 54)
		return gen_signal(s, thread, rnd_percent(&s->r, 30));
	if (what < 60)
		return gen_sem(s, thread, false);
	if (what < 68)
		return gen_sem(s, thread, true);
	if (what < 76)
		return gen_barrier(s, thread);
	if (what < 80)
		return gen_once(s, thread);
	if (what < 83)
		return gen_futex_wait(s, thread);
	if (what < 88)
		return gen_futex_wake(s, thread, 1 + (unsigned)rnd_below(&s->r, 3));
	if (what < 94)
		return gen_create(s, thread);
	if (what < 96)
		return gen_join(s, thread);
	if (what < 98)
		return thread && gen_exit(s, thread);
	sim_instant(s, thread, OP_EXTERNAL, -1);
	return true;
}

static bool gen_once_pending(struct sim *s, int thread)
{
	for (unsigned i = 0; i < s->h->objects; i++)
		if (s->object[i].once == 1 && s->object[i].holder == thread)
			return true;
	return false;
}

/* Release and wake everything, then exit. */
static bool gen_last(struct sim *s, int thread)
{
	unsigned what = (unsigned)rnd_below(&s->r, 9);

	if (s->thread[thread].holds)
		return gen_unlock(s, thread);
	if (gen_once_pending(s, thread))
		return gen_once(s, thread);
	if (what == 0)
		return gen_signal(s, thread, true);
	if (what == 1)
		return gen_sem(s, thread, true);
	if (what == 2)
		return gen_barrier(s, thread);
	if (what == 3)
		return gen_futex_wake(s, thread, UINT32_MAX);
	if (what == 4)
		return gen_enqueue(s, thread);
	return (thread == 0 && gen_join(s, thread)) || gen_exit(s, thread);
}

static void gen_step(struct sim *s, int thread)
{
	struct sim_thread *t = &s->thread[thread];

	if (t->state == BLOCKED && t->op == OP_START) {
		gen_start(s, thread);
	} else if (t->state == BLOCKED) {
		sim_try(s, thread);
	} else {
		for (int i = 0; i < 8; i++)
			if (s->winding_down ? gen_last(s, thread) : gen_any(s, thread))
				return;
		sim_instant(s, thread, OP_EXTERNAL, -1);
	}
}

/*
 * Return the thread that acts next, a random one of those that act at the same time; -1: none can.
 */
static int gen_next(struct sim *s)
{
	unsigned start = (unsigned)rnd_below(&s->r, THREADS);
	int next = -1;

	for (unsigned k = 0; k < THREADS; k++) {
		int i = (int)((start + k) % THREADS);
		const struct sim_thread *t = &s->thread[i];

		if (t->next == NEVER || (t->state != READY && t->state != BLOCKED))
			continue;
		if (next < 0 || t->next < s->thread[next].next)
			next = i;
	}
	return next;
}

/*
 * All threads are blocked: let a sleeper time out, or a thread that wants an item get one that was
 * never enqueued.
 */
static bool gen_rescue(struct sim *s)
{
	for (int i = 0; i < THREADS; i++) {
		struct sim_thread *t = &s->thread[i];

		if (t->state == BLOCKED && t->op == OP_DEQUEUE) {
			t->fixed = true;
			t->next = s->now + sim_time(s);
			return true;
		}
		if (t->state != BLOCKED || !t->asleep || t->doomed)
			continue;
		t->deadline = s->now + sim_time(s);
		t->next = t->deadline;
		return true;
	}
	return false;
}

static void gen_objects(struct sim *s, struct history *h)
{
	h->objects = 3 + (unsigned)rnd_below(&s->r, OBJECTS - 2);
	for (unsigned i = 0; i < h->objects; i++) {
		struct object *o = &h->object[i];
		struct sim_object *so = &s->object[i];

		*o = (struct object){ .kind = (enum object_kind)rnd_below(&s->r, OBJECT_KINDS) };
		if (i < 2)
			o->kind = MUTEX;
		o->class = (int)rnd_below(&s->r, o->kind == QUEUE ? QCLASSES : CLASSES);
		o->mutex = (int)rnd_below(&s->r, 2);
		/* Conditions used with a queue's lock belong to the queue too. */
		o->own = o->kind == COND ? h->object[o->mutex].own :
					   s->items && rnd_percent(&s->r, 30);
		o->initial = (unsigned)rnd_below(&s->r, 3);
		o->members = 1 + (unsigned)rnd_below(&s->r, h->threads);
		so->holder = so->released = -1;
		so->readers = so->once = 0;
		so->order = (enum item_order)rnd_below(&s->r, ITEM_ORDERS);
		so->done_used = false;
		so->value = so->initial = o->initial;
		so->granted = so->waiting = so->arrivals = 0;
		sim_empty(&so->reads);
		sim_empty(&so->tokens);
		sim_empty(&so->arrived);
	}
}

/* Make @h the history of a random program of about @target events, in several @parts or one. */
static void generate(struct sim *s, struct history *h, struct rnd r, int target, bool parts)
{
	int next;

	history_clear(h);
	s->h = h;
	s->r = r;
	s->now = start_clock;
	s->target = target;
	s->winding_down = false;
	s->items = rnd_percent(&s->r, 60);
	s->parts = parts;
	sim_empty(&s->finals);
	s->scale = (enum time_scale)rnd_below(&s->r, rnd_percent(&s->r, 10) ? 4 : 3);
	memset(s->thread, 0, sizeof(s->thread));
	h->threads = 2 + (unsigned)rnd_below(&s->r, THREADS - 1);
	for (unsigned i = 0; i < THREADS; i++) {
		s->thread[i].next = NEVER;
		h->routine[i] = (unsigned)rnd_below(&s->r, ROUTINES);
		h->detached[i] = false;
	}
	gen_objects(s, h);
	gen_start(s, 0);
	while ((next = gen_next(s)) >= 0 || gen_rescue(s)) {
		if (next < 0)
			continue;
		s->winding_down = h->events >= s->target;
		if (h->events > 3 * s->target || s->thread[0].state == ENDED)
			break;
		s->now = s->thread[next].next;
		if (s->parts && rnd_percent(&s->r, 4)) {
			gen_cut(s);
			continue;
		}
		if (!s->winding_down && h->events < 10 && rnd_percent(&s->r, 50) &&
		    s->thread[next].state == READY && gen_create(s, next))
			continue;
		gen_step(s, next);
	}
	/* Compare at the last event of every thread. */
	for (int i = 0; i < THREADS; i++) {
		const struct sim_thread *t = &s->thread[i];

		h->last[i] = t->started ? t->last : -1;
		if (h->last[i] >= 0)
			h->event[h->last[i]].check = true;
	}
}

#endif
