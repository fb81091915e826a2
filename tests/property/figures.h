/* SPDX-License-Identifier: MIT */
/* tests/property/figures.h - statistics of a history's queues, counted event by event */
#ifndef CPA_TESTS_FIGURES_H
#define CPA_TESTS_FIGURES_H

#include "tests/property/history.h"

struct figures {
	uint64_t enqueued, entered, dequeued, left, waited, depth, max_depth, twice, unmatched;
	uint64_t services, service;
	uint64_t settled;	       /* sum of `entered` of the items that were dequeued */
	unsigned producers, consumers; /* bit i: thread i */
	bool done_used;
	unsigned in[ITEMS]; /* copies of each item in the queue */
};

/* An item that a thread is processing. */
struct processing {
	int object;
	unsigned item;
	uint64_t begun; /* process + external time of the thread at the begin */
};

struct counting {
	struct figures queue[OBJECTS];
	struct processing work[THREADS][IN_WORK + 1];
	unsigned works[THREADS];
	uint64_t spent[THREADS];
};

static void figures_finish(struct counting *c, int thread, unsigned i)
{
	struct processing *p = &c->work[thread][i];

	c->queue[p->object].services++;
	c->queue[p->object].service += c->spent[thread] - p->begun;
	memmove(p, p + 1, (--c->works[thread] - i) * sizeof(*p));
}

static void figures_begin(struct counting *c, const struct event *e)
{
	unsigned *n = &c->works[e->thread];

	for (unsigned i = *n; i-- > 0;)
		if (!c->queue[c->work[e->thread][i].object].done_used)
			figures_finish(c, e->thread, i);
	c->work[e->thread][(*n)++] = (struct processing){ e->object, e->item, c->spent[e->thread] };
	if (*n > IN_WORK)
		memmove(&c->work[e->thread][0], &c->work[e->thread][1],
			--*n * sizeof(struct processing));
}

static void figures_done(struct counting *c, const struct event *e)
{
	c->queue[e->object].done_used = true;
	for (unsigned i = c->works[e->thread]; i-- > 0;) {
		const struct processing *p = &c->work[e->thread][i];

		if (p->object == e->object && p->item == e->item)
			return figures_finish(c, e->thread, i);
	}
}

static void figures_dequeue(struct counting *c, const struct history *h, const struct event *e)
{
	struct figures *q = &c->queue[e->object];
	uint64_t since = e->latest < 0 ? 0 : h->event[e->latest].now;

	q->consumers |= 1u << e->thread;
	if (e->latest < 0) {
		q->unmatched++;
	} else {
		q->max_depth = q->depth > q->max_depth ? q->depth : q->max_depth;
		q->depth--;
		q->dequeued++;
		q->left += e->now - start_clock;
		q->settled += since - start_clock;
		q->waited += e->now - since;
		q->in[e->item]--;
	}
	figures_begin(c, e);
}

static void figures_enqueue(struct counting *c, const struct event *e)
{
	struct figures *q = &c->queue[e->object];

	q->producers |= 1u << e->thread;
	q->enqueued++;
	q->entered += e->now - start_clock;
	q->depth++;
	q->twice += q->in[e->item]++ > 0;
}

static void figures_refused(struct counting *c, const struct history *h, const struct event *e)
{
	struct figures *q = &c->queue[e->object];

	q->enqueued--;
	q->entered -= h->event[e->undoes].now - start_clock;
	q->depth--;
	q->in[e->item]--;
}

/* Items enqueued in earlier parts are forgotten. */
static void figures_restart(struct counting *c, const struct history *h, const struct event *e)
{
	if (!e->opens)
		return;
	for (unsigned i = 0; i < h->objects; i++) {
		c->queue[i].depth = 0;
		c->queue[i].entered = c->queue[i].settled;
		memset(c->queue[i].in, 0, sizeof(c->queue[i].in));
	}
}

static void figures_count(struct counting *c, const struct history *h)
{
	memset(c, 0, sizeof(*c));
	for (int i = 0; i < h->events; i++) {
		const struct event *e = &h->event[i];

		c->spent[e->thread] += e->activity.process + e->activity.external;
		if (e->op == OP_ENQUEUE)
			figures_enqueue(c, e);
		else if (e->op == OP_REFUSED)
			figures_refused(c, h, e);
		else if (e->op == OP_DEQUEUE)
			figures_dequeue(c, h, e);
		else if (e->op == OP_DONE)
			figures_done(c, e);
		else if (e->op == OP_RESTART)
			figures_restart(c, h, e);
		else if (e->op == OP_STOP)
			c->works[e->thread] = 0;
		while (e->op == OP_EXIT && c->works[e->thread])
			figures_finish(c, e->thread, 0);
	}
}

#endif
