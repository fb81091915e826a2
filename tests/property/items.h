/* SPDX-License-Identifier: MIT */
/*
 * tests/property/items.h - random use of work queues, regions and annotations
 */
#ifndef CPA_TESTS_ITEMS_H
#define CPA_TESTS_ITEMS_H

#include "tests/property/simulate.h"

#define EQUAL 24 /* equal items in a queue at once */

/* Return a random object of @kind; -1: none. */
static int gen_object(struct sim *s, enum object_kind kind)
{
	int found[OBJECTS], n = 0;

	for (unsigned i = 0; i < s->h->objects; i++)
		if (s->h->object[i].kind == kind)
			found[n++] = (int)i;
	return n ? found[rnd_below(&s->r, (uint64_t)n)] : -1;
}

/*
 * Return whether @item may be enqueued: which of two equal items released at the same time leaves
 * first is undefined, and too many would find no space.
 */
static bool gen_may_enqueue(const struct sim *s, int object, unsigned item, uint64_t stamp)
{
	const struct sim_list *in = &s->object[object].tokens;
	unsigned equal = 0;

	for (int i = 0; i < in->count; i++) {
		const struct event *e = &s->h->event[in->event[i]];

		if (e->item == item && e->now == stamp)
			return false;
		equal += e->item == item;
	}
	return equal < EQUAL;
}

static bool gen_enqueue(struct sim *s, int thread)
{
	int object = gen_object(s, QUEUE);
	unsigned item = (unsigned)rnd_below(&s->r, ITEMS);
	uint64_t stamp = sim_stamp(s, thread);

	if (object < 0 || !gen_may_enqueue(s, object, item, stamp))
		return false;
	sim_release_at(s, thread, OP_ENQUEUE, object, stamp)->item = item;
	sim_push(&s->object[object].tokens, s->thread[thread].last);
	sim_wake(s, object);
	return true;
}

/* The real queue refuses the thread's latest such item. */
static bool gen_refused(struct sim *s, int thread)
{
	int object = gen_object(s, QUEUE), best = -1;
	struct sim_list *in = &s->object[object < 0 ? 0 : object].tokens;
	struct event *e;
	unsigned item;

	if (object < 0 || !in->count)
		return false;
	item = s->h->event[in->event[rnd_below(&s->r, (uint64_t)in->count)]].item;
	for (int i = 0; i < in->count; i++) {
		e = &s->h->event[in->event[i]];
		if (e->thread == thread && e->item == item &&
		    (best < 0 || e->now > sim_released(s, in->event[best])))
			best = i;
	}
	if (best < 0)
		return false;
	e = sim_instant(s, thread, OP_REFUSED, object);
	e->item = item;
	e->undoes = in->event[best];
	sim_remove(in, best);
	return true;
}

static bool gen_dequeue(struct sim *s, int thread)
{
	struct sim_thread *t = &s->thread[thread];
	int object = gen_object(s, QUEUE);

	if (object < 0)
		return false;
	t->item = (unsigned)rnd_below(&s->r, ITEMS);
	t->fixed = rnd_percent(&s->r, 15); /* it may never have been enqueued */
	if (!t->fixed && t->holds && !s->object[object].tokens.count)
		return false;
	sim_acquire(s, thread, OP_DEQUEUE, object);
	return true;
}

/* Mark an item as done, sometimes one that the thread does not process. */
static bool gen_done(struct sim *s, int thread)
{
	struct sim_thread *t = &s->thread[thread];
	unsigned i = (unsigned)rnd_below(&s->r, t->works), item = (unsigned)rnd_below(&s->r, ITEMS);
	int object = gen_object(s, QUEUE);

	if (t->works && !rnd_percent(&s->r, 10)) {
		object = t->work[i].object;
		item = t->work[i].item;
	}
	if (object < 0)
		return false;
	sim_instant(s, thread, OP_DONE, object)->item = item;
	s->object[object].done_used = true;
	for (i = t->works; i-- > 0;) {
		if (t->work[i].object != object || t->work[i].item != item)
			continue;
		memmove(&t->work[i], &t->work[i + 1], (--t->works - i) * sizeof(t->work[0]));
		break;
	}
	return true;
}

static bool gen_region(struct sim *s, int thread)
{
	struct sim_thread *t = &s->thread[thread];

	if (t->regions && (t->regions == REGIONS || rnd_percent(&s->r, 55))) {
		unsigned region = t->region[t->regions - 1];

		sim_instant(s, thread, OP_REGION_END, -1)->item = region;
		t->regions--;
	} else {
		unsigned region = (unsigned)rnd_below(&s->r, REGIONS);

		sim_instant(s, thread, OP_REGION, -1)->item = region;
		t->region[t->regions++] = region;
	}
	return true;
}

static bool gen_cell(struct sim *s, int thread, bool before)
{
	int object = gen_object(s, CELL);

	if (object < 0)
		return false;
	if (before) {
		sim_release(s, thread, OP_BEFORE, object);
		sim_push(&s->object[object].tokens, s->thread[thread].last);
	} else {
		sim_acquire(s, thread, OP_AFTER, object);
	}
	return true;
}

static bool gen_items(struct sim *s, int thread)
{
	struct sim_thread *t = &s->thread[thread];
	unsigned what = (unsigned)rnd_below(&s->r, 100);

	if (rnd_percent(&s->r, 10))
		t->inner = !t->inner;
	if (what < 35)
		return gen_enqueue(s, thread);
	if (what < 65)
		return gen_dequeue(s, thread);
	if (what < 72)
		return gen_refused(s, thread);
	if (what < 79)
		return rnd_percent(&s->r, 50) && gen_done(s, thread);
	if (what < 88)
		return gen_region(s, thread);
	return gen_cell(s, thread, what < 94);
}

#endif
