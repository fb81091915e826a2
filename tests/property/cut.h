/* SPDX-License-Identifier: MIT */
/*
 * tests/property/cut.h - profiling is switched off and on again at a random moment
 *
 * Threads that can act meet both changes at once; blocked ones are found asleep when the next part
 * begins. In the graph the first event of a part in each thread depends on the last events of the
 * earlier parts in all threads (Online CP 2.3: one final node, one start node), and on nothing else
 * of them. Locks stay held, but their sections are over; items in queues are forgotten. While
 * profiling is off, free locks are taken and held ones released unseen.
 */
#ifndef CPA_TESTS_CUT_H
#define CPA_TESTS_CUT_H

#include "tests/property/items.h"

/* Return the last event of @thread before the cut. */
static struct event *cut_stop(struct sim *s, int thread)
{
	struct sim_thread *t = &s->thread[thread];
	bool blocked = t->state == BLOCKED;
	uint64_t next = t->next, at = blocked ? t->arrived : s->now;
	enum sim_state state = t->state;
	struct activity a = blocked ? t->activity : sim_activity(s, thread);
	struct event *e = sim_event(s, thread, OP_STOP, -1, &a, at, at);

	e->asleep = blocked;
	t->state = state;
	t->next = next;
	return e;
}

/* Add the first event of @thread behind the cut. */
static void cut_restart(struct sim *s, int thread, const struct sim_list *finals, bool opens)
{
	struct sim_thread *t = &s->thread[thread];
	struct event *e = history_event(s->h, OP_RESTART, thread);
	int latest = -1;

	e->part = s->h->cuts;
	e->arrived = e->now = s->now;
	e->site = s->h->event[t->last].site;
	e->local = t->last;
	e->opens = opens;
	e->check = rnd_percent(&s->r, 50);
	e->matched = true;
	for (int i = finals->count; i-- > 0;) {
		history_pred(s->h, finals->event[i]);
		if (latest < 0 ||
		    s->h->event[finals->event[i]].released > s->h->event[latest].released)
			latest = finals->event[i];
	}
	s->h->event[s->h->events - 1].latest = latest;
	t->last = s->h->events - 1;
	t->clock = s->now;
	t->activity = (struct activity){ .unsampled = C_UNSAMPLED };
	if (t->arrived < s->now)
		t->arrived = s->now;
	if (t->deadline < s->now)
		t->deadline = s->now;
	if (t->next < s->now)
		t->next = s->now;
	t->works = t->regions = t->bright = 0;
}

static bool cut_runs(const struct sim *s, int thread)
{
	const struct sim_thread *t = &s->thread[thread];

	return t->started && (t->state == READY || t->state == BLOCKED);
}

/* Return whether a cut is possible: no thread is about to begin, and some thread can act. */
static bool cut_allowed(const struct sim *s)
{
	bool ready = false;

	for (int i = 0; i < THREADS; i++) {
		if (s->thread[i].state == BLOCKED && s->thread[i].op == OP_START)
			return false;
		ready |= s->thread[i].state == READY;
	}
	return ready && s->now > s->h->cut[s->h->cuts].to && s->h->cuts + 1 < CUTS;
}

/* Locks without waiters change hands while profiling is off. */
static void cut_locks(struct sim *s)
{
	for (int i = 0; i < (int)s->h->objects; i++) {
		struct sim_object *o = &s->object[i];
		bool wanted = false;

		for (int k = 0; k < THREADS; k++)
			wanted |= s->thread[k].state == BLOCKED &&
				  (s->thread[k].object == i || s->thread[k].mutex == i);
		if (s->h->object[i].kind != MUTEX || wanted || !rnd_percent(&s->r, 40))
			continue;
		if (o->holder >= 0) {
			if (s->thread[o->holder].state != READY)
				continue;
			sim_unhold(s, o->holder, i);
			o->holder = -1;
		} else {
			int thread = (int)rnd_below(&s->r, THREADS);

			if (!cut_runs(s, thread) || s->thread[thread].state != READY ||
			    s->thread[thread].holds)
				continue;
			o->holder = thread;
			sim_hold(s, thread, i);
		}
	}
}

/* Collect the paths that the first thread finds, by row: of sleeping and ended threads. */
static void cut_gather(struct sim *s, struct sim_list *finals)
{
	for (int i = 0; i < s->h->starts; i++) {
		const struct sim_thread *t = &s->thread[s->h->start[i]];
		int last = t->last;

		if (t->state == ENDED || t->state == GONE || s->h->event[last].asleep)
			sim_push(finals, last);
	}
}

static void gen_cut(struct sim *s)
{
	int first = -1, stopper = rnd_percent(&s->r, 60) ? (int)rnd_below(&s->r, THREADS) : -1;
	struct history *h = s->h;

	if (!cut_allowed(s))
		return;
	h->cut[++h->cuts].from = s->now;
	for (int i = 0; i < THREADS; i++) {
		struct event *e = cut_runs(s, i) ? cut_stop(s, i) : NULL;

		if (!e)
			continue;
		e->released = e->now + (i == stopper && !e->asleep);
		e->part = h->cuts - 1;
		if (e->asleep)
			continue;
		sim_push(&s->finals, s->thread[i].last);
		first = i;
	}
	cut_locks(s);
	s->now += 1 + sim_time(s);
	h->cut[h->cuts].to = s->now;
	cut_gather(s, &s->finals);
	for (unsigned i = 0; i < h->objects; i++)
		if (h->object[i].kind == QUEUE)
			sim_empty(&s->object[i].tokens);
	cut_restart(s, first, &s->finals, true);
	for (int i = 0; i < THREADS; i++) {
		if (i == first || !cut_runs(s, i))
			continue;
		if (s->thread[i].state == BLOCKED) /* it wakes up and adds its path itself */
			sim_push(&s->finals, s->thread[i].last);
		cut_restart(s, i, &s->finals, false);
	}
}

#endif
