/* SPDX-License-Identifier: MIT */
/* analysis/predict/transcribe.c - make the script of a recorded run, event by event */
#include <libiberty/libiberty.h>
#include <stdlib.h>

#include "analysis/predict/transcribe_stages.h"

/* Number + 1 of the last item that the thread got from a queue whose items are dealt; 0: none. */
static uint32_t last_item(const struct transcribe *t, const struct transcribe_thread *self)
{
	if (self->queue == POOL)
		return t->part[self->base + self->last_get].item;
	return self->queue && self->queue != SEVERAL ? t->number[self->base + self->last_get] : 0;
}

static void emit_events(struct transcribe *t, uint32_t which)
{
	const struct cpa_run_thread *thread = &t->run->thread[which];
	struct transcribe_thread *self = &t->thread[which];
	struct cpa_script *script = &t->out->script;
	uint32_t last = last_item(t, self);

	t->ready = 0;
	for (size_t i = 0; i < thread->events; i++) {
		const struct cpa_history_event *event = &thread->event[i];
		uint32_t number = t->number[self->base + i];

		/* A thread without a recorded CREATE starts at its recorded time. */
		if (i)
			transcribe_activity(t, which, event, &t->part[self->base + i]);
		if (last && i == self->tail) {
			if (t->work)
				transcribe_emit(t, CPA_STEP_NONE, 0, 0);
			script->thread[which].tail = script->steps;
		}
		transcribe_operation(t, event, number, &t->part[self->base + i]);
		if (number && event->kind != CPA_EV_ENQUEUE && event->kind != CPA_EV_DEQUEUE)
			transcribe_emit(t, CPA_STEP_OFFER, number - 1, 0);
		else if (t->work)
			transcribe_emit(t, CPA_STEP_NONE, 0, 0);
	}
	if (last && self->tail >= thread->events) {
		if (t->work)
			transcribe_emit(t, CPA_STEP_NONE, 0, 0);
		script->thread[which].tail = script->steps;
	}
	if (last)
		script->item[last - 1].end = script->thread[which].tail;
	transcribe_emit(t, CPA_STEP_EXIT, 0, 0);
}

static bool was_created(const struct transcribe *t, const struct cpa_run_thread *thread)
{
	uint32_t *number;

	return thread->events && thread->event[0].kind == CPA_EV_START && thread->event[0].causes &&
	       transcribe_cause(t, &thread->event[0].cause[0], &number) != NULL;
}

static void emit_threads(struct transcribe *t)
{
	struct cpa_script *script = &t->out->script;

	script->thread = XCNEWVEC(struct cpa_script_thread, script->threads);
	t->out->source = XNEWVEC(uint32_t, script->threads);
	for (uint32_t i = 0; i < t->run->threads; i++) {
		const struct cpa_run_thread *thread = &t->run->thread[i];
		struct transcribe_thread *self = &t->thread[i];
		uint64_t first = thread->events ? thread->event[0].now : t->run->start;

		script->thread[i] = (struct cpa_script_thread){
			.first = script->steps,
			.tail = CPA_NOWHERE,
			.begin = first > t->run->start ? first - t->run->start : 0,
			.created = self->removed || was_created(t, thread),
		};
		t->out->source[i] = i;
		emit_events(t, i);
		for (uint32_t k = 0; k < self->addeds; k++) {
			script->thread[self->added + k] = script->thread[i];
			t->out->source[self->added + k] = i;
		}
	}
}

/* Number the releases for which acquires in recorded order wait; count the tokens of semaphores. */
static void find_offers(struct transcribe *t)
{
	for (size_t i = 0; i < t->run->threads; i++) {
		const struct cpa_run_thread *thread = &t->run->thread[i];

		for (size_t k = 0; k < thread->events; k++) {
			const struct cpa_history_event *event = &thread->event[k];

			if (event->kind == CPA_EV_SEM_WAIT && !event->causes && event->matched &&
			    !event->failed && event->object && event->object <= t->cast->objects) {
				uint32_t *sem = &t->sem[event->object];

				if (!*sem)
					*sem = transcribe_object(t, CPA_SCRIPT_SEM, 0) + 1;
				t->out->script.object[*sem - 1].count++;
			}
			/* This wait is for an item. */
			if (t->part[t->thread[i].base + k].role)
				continue;
			for (uint32_t c = 0; c < event->causes; c++) {
				uint32_t *number;
				const struct cpa_history_event *cause =
					transcribe_cause(t, &event->cause[c], &number);

				if (cause && !*number && transcribe_ordered(t, event, cause))
					*number = ++t->out->script.offers;
			}
		}
	}
}

static void number_threads(struct transcribe *t)
{
	size_t base = 0;

	t->thread = XCNEWVEC(struct transcribe_thread, t->run->threads);
	t->by_id = XNEWVEC(uint32_t, t->run->threads);
	for (uint32_t i = 0; i < t->run->threads; i++) {
		uint32_t at = i;

		t->thread[i].id = t->run->thread[i].thread.id;
		t->thread[i].base = base;
		base += t->run->thread[i].events;
		for (; at && t->thread[t->by_id[at - 1]].id > t->thread[i].id; at--)
			t->by_id[at] = t->by_id[at - 1];
		t->by_id[at] = i;
	}
	t->number = XCNEWVEC(uint32_t, base + 1);
	t->part = XCNEWVEC(struct transcribe_part, base + 1);
}

/* Compute how much of each thread's gaps may be the profiler's own time. */
static void find_probes(struct transcribe *t)
{
	for (uint32_t i = 0; i < t->run->threads; i++) {
		const struct cpa_run_thread *thread = &t->run->thread[i];
		uint64_t gaps = 0;

		for (size_t k = 1; k < thread->events; k++)
			gaps += transcribe_gap(&thread->event[k]);
		t->thread[i].probe = 1;
		if (t->cast->probe && t->cast->probe[i] < gaps)
			t->thread[i].probe = (double)t->cast->probe[i] / (double)gaps;
	}
}

static uint64_t last_event(const struct cpa_run *run)
{
	uint64_t last = run->start;

	for (size_t i = 0; i < run->threads; i++) {
		const struct cpa_run_thread *thread = &run->thread[i];

		if (thread->events && thread->event[thread->events - 1].now > last)
			last = thread->event[thread->events - 1].now;
	}
	return last;
}

struct cpa_transcript *cpa_transcribe(const struct cpa_run *run, const struct cpa_cast *cast,
				      const struct cpa_changes *changes)
{
	struct transcribe t = { .run = run, .cast = cast, .changes = changes };

	t.out = XCNEW(struct cpa_transcript);
	t.out->script.threads = (uint32_t)run->threads;
	t.out->script.ends = CPA_NOWHERE;
	t.out->recorded = (run->end ? run->end : last_event(run)) - run->start;
	t.queue = XCNEWVEC(struct transcribe_queue, cast->queues + 1);
	t.lock = XCNEWVEC(uint32_t, cast->objects + 1);
	t.sem = XCNEWVEC(uint32_t, cast->objects + 1);
	t.barrier = XCNEWVEC(uint32_t, cast->objects + 1);
	number_threads(&t);
	find_probes(&t);
	transcribe_queues(&t);
	transcribe_polls(&t);
	transcribe_pools(&t);
	find_offers(&t);
	transcribe_latency(&t);
	t.out->script.between = changes->between;
	emit_threads(&t);
	for (uint32_t i = 1; i <= cast->queues; i++)
		if (t.queue[i].consumers && t.queue[i].lock && t.lock[t.queue[i].lock])
			t.out->script.object[t.queue[i].object].lock = t.lock[t.queue[i].lock] - 1;
	for (size_t i = 0; i < t.pools; i++)
		if (t.lock[t.pool[i].mutex])
			t.out->script.object[t.pool[i].object].lock = t.lock[t.pool[i].mutex] - 1;
	t.out->start = t.out->script.threads ? t.out->script.thread[0].begin : 0;
	if (run->exit_thread)
		t.out->script.ends = transcribe_thread(&t, run->exit_thread);
	free(t.thread);
	free(t.queue);
	free(t.by_id);
	free(t.number);
	free(t.part);
	free(t.pool);
	free(t.lock);
	free(t.sem);
	free(t.barrier);
	return t.out;
}

void cpa_transcript_free(struct cpa_transcript *transcript)
{
	free(transcript->script.step);
	free(transcript->script.object);
	free(transcript->script.item);
	free(transcript->script.thread);
	free(transcript->script.stream);
	free(transcript->source);
	free(transcript);
}
