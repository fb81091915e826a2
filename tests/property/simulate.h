/* SPDX-License-Identifier: MIT */
/*
 * tests/property/simulate.h - simulated synchronization objects and the dependencies that they
 * create
 *
 * Each thread has a clock time at which it acts next. An operation on an object that is not free
 * blocks the thread; a release sets the time at which blocked threads try again. Dependencies
 * (which release let which acquire through) are recorded by the rules of POSIX, and in order of
 * signals and posts where POSIX leaves it open.
 */
#ifndef CPA_TESTS_SIMULATE_H
#define CPA_TESTS_SIMULATE_H

#include "tests/property/machine.h"

/* Add dependencies on all of @list, newest first; return the latest of them. */
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

/* sim_try_...(): the blocked thread continues if it may. One function for each kind of acquire. */

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

/* Time that no release explains is external. @mutex, if not -1, is held from its end on. */
static void sim_unexplained(struct sim *s, int thread, uint64_t from, uint64_t to, int mutex)
{
	struct activity a = { .unsampled = C_UNSAMPLED, .external = to - from };

	a.external_kind = (unsigned)rnd_below(&s->r, EXTERNALS);
	a.held = sim_held(s, thread);
	if (to > from)
		sim_event(s, thread, OP_EXTERNAL, -1, &a, to, to)->mutex = mutex;
}

/* Return the place of @item in @object's list, of several the one released first. -1: none. */
static int sim_oldest(const struct sim *s, int object, unsigned item)
{
	const struct sim_list *in = &s->object[object].tokens;
	int best = -1;

	for (int i = 0; i < in->count; i++)
		if (s->h->event[in->event[i]].item == item &&
		    (best < 0 || sim_released(s, in->event[i]) < sim_released(s, in->event[best])))
			best = i;
	return best;
}

/* @thread begins to process an item; its items of queues without calls of "done" end here. */
static void sim_begin_item(struct sim *s, int thread, int object, unsigned item)
{
	struct sim_thread *t = &s->thread[thread];
	unsigned n = 0;

	for (unsigned i = 0; i < t->works; i++)
		if (s->object[t->work[i].object].done_used)
			t->work[n++] = t->work[i];
	if (n == IN_WORK)
		memmove(&t->work[0], &t->work[1], --n * sizeof(t->work[0]));
	t->work[n].object = object;
	t->work[n].item = item;
	t->works = n + 1;
}

static void sim_try_dequeue(struct sim *s, int thread)
{
	struct sim_thread *t = &s->thread[thread];
	struct sim_object *o = &s->object[t->object];
	int object = t->object, place, last = o->tokens.count - 1, enqueue = -1;
	uint64_t arrived = t->arrived;
	unsigned item = t->item;
	struct event *e;

	if (!t->fixed && last < 0)
		return;
	place = o->order == FIFO ? 0 : o->order == LIFO ? last : (int)rnd_below(&s->r, last + 1);
	if (!t->fixed)
		item = s->h->event[o->tokens.event[place]].item;
	place = sim_oldest(s, object, item);
	if (place >= 0) {
		enqueue = o->tokens.event[place];
		sim_remove(&o->tokens, place);
	}
	e = sim_return(s, thread);
	history_pred(s->h, enqueue);
	e->latest = enqueue;
	e->item = item;
	e->matched = enqueue >= 0;
	sim_begin_item(s, thread, object, item);
	if (enqueue < 0)
		sim_unexplained(s, thread, arrived, s->now, -1);
}

static void sim_try_after(struct sim *s, int thread)
{
	struct sim_list *before = &s->object[s->thread[thread].object].tokens;
	uint64_t arrived = s->thread[thread].arrived;
	struct event *e = sim_return(s, thread);

	e->latest = sim_depend(s, before, 0, before->count);
	e->matched = e->latest >= 0;
	if (!e->matched)
		sim_unexplained(s, thread, arrived, s->now, -1);
}

/* End a condition or futex wait: a woken thread takes the oldest token if one is granted. */
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
		/* Time up to the deadline is not a wait for other threads. */
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

	t->asleep = false; /* woken or timed out: now it waits for the mutex */
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
	case OP_DEQUEUE:
		return sim_try_dequeue(s, thread);
	case OP_AFTER:
		return sim_try_after(s, thread);
	case OP_WAIT:
	case OP_FUTEX_WAIT:
		return sim_try_wait(s, thread);
	default:
		abort();
	}
}

/* Most acquires try at once; some take longer to get there. */
static void sim_acquire(struct sim *s, int thread, enum op op, int object)
{
	sim_block(s, thread, op, object);
	if (rnd_percent(&s->r, 85))
		sim_try(s, thread);
	else
		s->thread[thread].next = s->now + sim_latency(s);
}

/* Wake up to @most sleepers; return their number. */
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

/* Grant tokens to up to @most waiters. */
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
