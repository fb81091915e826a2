/* SPDX-License-Identifier: MIT */
/* analysis/predict/transcribe_visits.c - find visits of threads to mutexes that have conditions */
#include "analysis/predict/transcribe_visits.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>

#define OPEN 16 /* simultaneous visits of a thread; further ones are not recorded */

struct walk {
	const struct transcribe *t;
	struct transcribe_visits *to;
	uint32_t *mutex_of;  /* by row of a condition; 0: none; or SEVERAL */
	bool *has_cond;	     /* by row of a mutex */
	uint32_t *last;	     /* by row of a mutex: last visit that ended, index + 1 */
	uint32_t open[OPEN]; /* visits, index + 1 */
	unsigned opens;
	unsigned others; /* mutexes held without conditions */
	uint32_t thread;
	bool signalled[OPEN]; /* by open visit */
};

static struct transcribe_visit *add_visit(struct transcribe_visits *to)
{
	if (to->count == to->room) {
		to->room = to->room ? 2 * to->room : 256;
		to->visit = XRESIZEVEC(struct transcribe_visit, to->visit, to->room);
	}
	return &to->visit[to->count++];
}

static struct transcribe_call *add_call(struct transcribe_calls *to)
{
	if (to->count == to->room) {
		to->room = to->room ? 2 * to->room : 256;
		to->call = XRESIZEVEC(struct transcribe_call, to->call, to->room);
	}
	return &to->call[to->count++];
}

static unsigned find_open(const struct walk *w, uint32_t mutex)
{
	unsigned i = 0;

	while (i < w->opens && w->to->visit[w->open[i] - 1].mutex != mutex)
		i++;
	return i;
}

static void enter(struct walk *w, const struct cpa_history_event *event, size_t at)
{
	if (!w->has_cond[event->object])
		w->others++;
	if (!w->has_cond[event->object] || w->opens == OPEN ||
	    find_open(w, event->object) < w->opens)
		return;
	*add_visit(w->to) = (struct transcribe_visit){ .mutex = event->object,
						       .thread = w->thread,
						       .nested = w->opens + w->others > 0,
						       .lock = at,
						       .unlock = at,
						       .end = event->now };
	w->signalled[w->opens] = false;
	w->open[w->opens++] = (uint32_t)w->to->count;
}

static void leave(struct walk *w, const struct cpa_history_event *event, size_t at)
{
	unsigned i = find_open(w, event->object);

	if (!w->has_cond[event->object] && w->others)
		w->others--;
	if (i == w->opens)
		return;
	w->to->visit[w->open[i] - 1].unlock = at;
	w->to->visit[w->open[i] - 1].end = event->now;
	w->to->visit[w->open[i] - 1].place = event->node;
	w->last[event->object] = w->open[i];
	w->opens--;
	w->open[i] = w->open[w->opens];
	w->signalled[i] = w->signalled[w->opens];
}

static void sleep_on(struct walk *w, const struct cpa_history_event *event, size_t at)
{
	unsigned i = find_open(w, event->other);
	struct transcribe_visit *visit = i < w->opens ? &w->to->visit[w->open[i] - 1] : NULL;

	*add_call(&w->to->sleeps) = (struct transcribe_call){ .cond = event->object,
							      .mutex = event->other,
							      .visit = visit ? w->open[i] : 0,
							      .thread = w->thread,
							      .event = at,
							      .now = event->now,
							      .late = visit && w->signalled[i] };
	if (!visit)
		return;
	visit->several |= visit->cond && visit->cond != event->object;
	visit->cond = event->object;
}

static void woke(struct walk *w, const struct cpa_history_event *event, size_t at)
{
	unsigned i = find_open(w, event->other);

	if (i == w->opens)
		return;
	w->to->visit[w->open[i] - 1].wait = at;
	w->to->visit[w->open[i] - 1].failed = event->failed;
}

static void signal_to(struct walk *w, const struct cpa_history_event *event, size_t at)
{
	uint32_t mutex = w->mutex_of[event->object], visit = 0;
	unsigned i = find_open(w, mutex);

	if (i < w->opens) {
		visit = w->open[i];
		w->signalled[i] = true;
	} else if (mutex != SEVERAL && w->last[mutex] &&
		   w->to->visit[w->last[mutex] - 1].thread == w->thread) {
		visit = w->last[mutex];
	}
	if (visit)
		w->to->visit[visit - 1].signalled |= UINT64_C(1) << event->object % 64;
	*add_call(&w->to->signals) = (struct transcribe_call){ .cond = event->object,
							       .visit = visit,
							       .thread = w->thread,
							       .event = at,
							       .now = event->now };
}

/* The kind of a destroyed mutex may not be known. */
static void walk_event(struct walk *w, const struct cpa_history_event *event, size_t at)
{
	if (event->kind == CPA_EV_LOCK && !event->failed)
		enter(w, event, at);
	else if (event->kind == CPA_EV_UNLOCK)
		leave(w, event, at);
	else if (!w->mutex_of[event->object])
		return;
	else if (event->kind == CPA_EV_SLEEP)
		sleep_on(w, event, at);
	else if (event->kind == CPA_EV_WAIT)
		woke(w, event, at);
	else if (event->kind == CPA_EV_SIGNAL || event->kind == CPA_EV_BROADCAST)
		signal_to(w, event, at);
}

static bool known(const struct walk *w, uint32_t row)
{
	return row && row <= w->t->cast->objects;
}

/*
 * Find the mutex of each condition on which a thread waits; conditions of annotated queues are left
 * out.
 */
static void find_mutexes(struct walk *w)
{
	for (size_t i = 0; i < w->t->run->threads; i++) {
		const struct cpa_run_thread *thread = &w->t->run->thread[i];

		for (size_t k = 0; k < thread->events; k++) {
			const struct cpa_history_event *event = &thread->event[k];
			uint32_t *mutex;

			if (event->kind != CPA_EV_SLEEP || !known(w, event->object) ||
			    !known(w, event->other) || transcribe_owner(w->t, event->object))
				continue;
			mutex = &w->mutex_of[event->object];
			*mutex = !*mutex || *mutex == event->other ? event->other : SEVERAL;
			w->has_cond[event->other] = true;
		}
	}
}

static void walk_threads(struct walk *w)
{
	for (size_t i = 0; i < w->t->run->threads; i++) {
		const struct cpa_run_thread *thread = &w->t->run->thread[i];

		w->thread = (uint32_t)i;
		w->opens = w->others = 0;
		for (size_t k = 0; k < thread->events; k++)
			if (known(w, thread->event[k].object))
				walk_event(w, &thread->event[k], k);
	}
}

static int by_cond(const void *a, const void *b)
{
	const struct transcribe_call *x = a, *y = b;

	return x->cond < y->cond ? -1 : x->cond > y->cond;
}

void transcribe_visits_init(struct transcribe_visits *visits, const struct transcribe *t)
{
	struct walk w = { .t = t, .to = visits };

	*visits = (struct transcribe_visits){ 0 };
	w.mutex_of = XCNEWVEC(uint32_t, t->cast->objects + 1);
	w.has_cond = XCNEWVEC(bool, t->cast->objects + 1);
	w.last = XCNEWVEC(uint32_t, t->cast->objects + 1);
	find_mutexes(&w);
	walk_threads(&w);
	if (visits->sleeps.count)
		qsort(visits->sleeps.call, visits->sleeps.count, sizeof(*visits->sleeps.call),
		      by_cond);
	if (visits->signals.count)
		qsort(visits->signals.call, visits->signals.count, sizeof(*visits->signals.call),
		      by_cond);
	free(w.mutex_of);
	free(w.has_cond);
	free(w.last);
}

void transcribe_visits_fini(struct transcribe_visits *visits)
{
	free(visits->visit);
	free(visits->sleeps.call);
	free(visits->signals.call);
}
