/* SPDX-License-Identifier: MIT */
/*
 * analysis/predict/transcribe_queue.c - queues of a script: receivers of items, and the work on
 * each
 */
#include <libiberty/libiberty.h>
#include <stdlib.h>

#include "analysis/predict/transcribe_stages.h"

struct change {
	uint64_t now;
	int by;
};

static int by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return x->now != y->now ? (x->now < y->now ? -1 : 1) : y->by - x->by;
}

/* The largest number of items in @queue at a time. */
static uint32_t most_items(const struct transcribe *t, uint32_t queue)
{
	struct change *change = XNEWVEC(struct change, t->run->events + 1);
	size_t count = 0;
	int items = 0, most = 1;

	for (size_t i = 0; i < t->run->threads; i++) {
		const struct cpa_run_thread *thread = &t->run->thread[i];

		for (size_t k = 0; k < thread->events; k++) {
			const struct cpa_history_event *event = &thread->event[k];

			if (event->queue != queue)
				continue;
			if (event->kind == CPA_EV_ENQUEUE)
				change[count++] = (struct change){ event->now, 1 };
			else if (event->kind == CPA_EV_DEQUEUE)
				change[count++] = (struct change){ event->now, -1 };
		}
	}
	qsort(change, count, sizeof(*change), by_time);
	for (size_t i = 0; i < count; i++) {
		items += change[i].by;
		most = items > most ? items : most;
	}
	free(change);
	return (uint32_t)most;
}

/* Find an enqueue that had to wait on a condition of the queue: the queue is then bounded. */
static void find_bound(struct transcribe *t, const struct cpa_run_thread *thread)
{
	uint32_t waited = 0;

	for (size_t i = 0; i < thread->events; i++) {
		const struct cpa_history_event *event = &thread->event[i];

		if (event->kind == CPA_EV_WAIT && event->now > event->arrived)
			waited = transcribe_owner(t, event->object);
		else if (event->kind == CPA_EV_ENQUEUE && event->queue && event->queue == waited)
			t->queue[waited].bounded = true;
		else if (event->kind == CPA_EV_DEQUEUE || event->kind == CPA_EV_ENQUEUE)
			waited = 0;
	}
}

/* Store the number of the item that @get received. Return false if its enqueue is not known. */
static bool find_item(struct transcribe *t, const struct cpa_history_event *get)
{
	for (uint32_t i = 0; i < get->causes; i++) {
		uint32_t *number;
		const struct cpa_history_event *put = transcribe_cause(t, &get->cause[i], &number);

		if (!put || put->kind != CPA_EV_ENQUEUE || put->queue != get->queue || *number)
			continue;
		*number = transcribe_item(t);
		return true;
	}
	return false;
}

static void find_items(struct transcribe *t, uint32_t which)
{
	const struct cpa_run_thread *thread = &t->run->thread[which];
	struct transcribe_thread *self = &t->thread[which];

	for (size_t i = 0; i < thread->events; i++) {
		const struct cpa_history_event *event = &thread->event[i];
		struct transcribe_queue *queue;

		if (event->kind != CPA_EV_DEQUEUE || !event->queue ||
		    event->queue > t->cast->queues || !find_item(t, event))
			continue;
		t->number[self->base + i] = t->out->script.items;
		queue = &t->queue[event->queue];
		if (self->queue != 0 && self->queue != event->queue) {
			queue->shared = true;
			if (self->queue != SEVERAL)
				t->queue[self->queue].shared = true;
			self->queue = SEVERAL;
		} else if (self->queue == 0) {
			if (!queue->consumers++)
				queue->first = which;
			queue->last = which;
			/* Threads of different classes may get different kinds of items. */
			queue->mixed |= thread->thread.slot !=
					t->run->thread[queue->first].thread.slot;
			self->queue = event->queue;
		}
		self->last_get = i;
	}
}

/* Find the end of the thread's work on its last item. Return false if it is the thread's end. */
static bool find_tail(struct transcribe *t, uint32_t which)
{
	const struct cpa_run_thread *thread = &t->run->thread[which];
	struct transcribe_thread *self = &t->thread[which];
	uint32_t lock = t->queue[self->queue].lock;

	for (self->tail = self->last_get + 1; self->tail < thread->events; self->tail++) {
		const struct cpa_history_event *event = &thread->event[self->tail];

		if (event->kind == CPA_EV_LOCK && lock && event->object == lock)
			return true;
		if (event->kind == CPA_EV_DONE && event->queue == self->queue) {
			self->tail++;
			return true;
		}
	}
	return false;
}

/* Set the number of workers of the queue in row @row to the requested one. */
static void hire(struct transcribe *t, uint32_t row)
{
	struct transcribe_queue *queue = &t->queue[row];
	struct cpa_script *script = &t->out->script;
	uint32_t class = t->cast->queue_class ? t->cast->queue_class[row] : 0;
	uint32_t wanted = t->changes->workers && class <= t->cast->components ?
				  t->changes->workers[class] :
				  0;
	uint32_t found = 0;

	if (!wanted)
		return;
	if (script->object[queue->object].deal != CPA_DEAL_ITEMS) {
		t->out->weakness.refused++;
		return;
	}
	for (uint32_t i = 0; i < t->run->threads; i++)
		if (t->thread[i].queue == row && ++found > wanted)
			t->thread[i].removed = true;
	if (wanted <= found)
		return;
	t->thread[queue->last].added = script->threads;
	t->thread[queue->last].addeds = wanted - found;
	script->threads += wanted - found;
}

static void cast_queue(struct transcribe *t, uint32_t row)
{
	struct transcribe_queue *queue = &t->queue[row];
	struct cpa_script_object *object;
	bool ends = true;

	if (!queue->consumers && !queue->shared)
		return;
	queue->object =
		transcribe_object(t, CPA_SCRIPT_QUEUE, queue->bounded ? most_items(t, row) : 0);
	for (uint32_t i = 0; i < t->run->threads; i++)
		if (t->thread[i].queue == row)
			ends &= find_tail(t, i);
	object = &t->out->script.object[queue->object];
	/*
	 * For a single consumer, the end of its work on an item must be known; otherwise all items
	 * are treated alike.
	 */
	if (!queue->shared && !queue->mixed)
		object->deal = queue->consumers > 1 || ends ? CPA_DEAL_ITEMS : CPA_DEAL_COUNT;
	/* The thread does its recorded steps in their order. */
	for (uint32_t i = 0; i < t->run->threads && object->deal != CPA_DEAL_ITEMS; i++)
		if (t->thread[i].queue == row)
			t->thread[i].queue = SEVERAL;
	hire(t, row);
}

void transcribe_queues(struct transcribe *t)
{
	for (uint32_t i = 1; i <= t->cast->objects; i++) {
		uint32_t owner = transcribe_owner(t, i), kind = t->cast->object_kind[i];

		if (owner && (kind == CPA_MUTEX || kind == CPA_OMP_LOCK) && !t->queue[owner].lock)
			t->queue[owner].lock = i;
	}
	for (uint32_t i = 0; i < t->run->threads; i++) {
		find_bound(t, &t->run->thread[i]);
		find_items(t, i);
	}
	for (uint32_t i = 1; i <= t->cast->queues; i++)
		cast_queue(t, i);
}
