/* SPDX-License-Identifier: MIT */
#include "analysis/exact/history.h"

#include <libiberty/libiberty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/input/journal.h"
#include "analysis/util/values.h"

/*
 * Two releases joined into one. Resolved: the list of the original releases, the latest of each
 * thread.
 */
struct merge {
	cpa_event_name cause[2];
	size_t first, count; /* of resolved.name */
	bool done;
};

struct reading {
	struct cpa_dump *dump;
	struct cpa_journal_file file;
	struct cpa_run *run;
	size_t room_events, causes, room_causes, charges, room_charges;
	struct cpa_map merge_of; /* by name, index + 1 */
	struct merge *merge;
	size_t merges, room_merges;
	struct {
		cpa_event_name *name;
		size_t used, room;
	} resolved;
};

static void *grown(void *p, size_t used, size_t *room, size_t size)
{
	if (used < *room)
		return p;
	*room = *room ? 2 * *room : 256;
	return xrealloc(p, *room * size);
}

static void add_cause(struct reading *in, struct cpa_history_event *to, cpa_event_name name,
		      unsigned more, bool second)
{
	unsigned observed = second ? CPA_ACQUIRE_SECOND_OBSERVED : CPA_ACQUIRE_FIRST_OBSERVED;
	struct cpa_run *run = in->run;

	run->cause = grown(run->cause, in->causes, &in->room_causes, sizeof(*run->cause));
	run->cause[in->causes++] = (struct cpa_cause){ .thread = cpa_event_thread(name),
						       .number = (uint32_t)name,
						       .waited_for = more & observed };
	to->causes++;
}

/* Merge the charges of the event, from @first on, so that each slot occurs once. */
static void add_charge(struct reading *in, size_t first, uint32_t slot, uint64_t ticks)
{
	struct cpa_run *run = in->run;

	if (!slot || !ticks)
		return;
	for (size_t i = first; i < in->charges; i++) {
		if (run->charge[i].slot == slot) {
			run->charge[i].ticks += ticks;
			return;
		}
	}
	run->charge = grown(run->charge, in->charges, &in->room_charges, sizeof(*run->charge));
	run->charge[in->charges++] = (struct cpa_charge){ slot, ticks };
}

static void add_charges(struct reading *in, const struct cpa_cursor *c, const struct cpa_entry *e,
			struct cpa_history_event *to)
{
	uint64_t weight = cpa_entry_weight(e);
	size_t first = in->charges;

	add_charge(in, first, in->file.edge[e->edge].slot, weight);
	add_charge(in, first, c->slot, weight);
	for (unsigned i = 0; i < c->held_count; i++)
		add_charge(in, first, c->held[i], weight);
	for (size_t i = 0; i < e->charges; i++)
		add_charge(in, first, e->charge[i].slot, e->charge[i].ticks);
	to->charges = (uint32_t)(in->charges - first);
}

static struct cpa_history_event *add_event(struct reading *in, struct cpa_run_thread *t,
					   size_t *room, const struct cpa_entry *e, uint64_t clock)
{
	struct cpa_history_event *event;
	struct cpa_node node = { 0 };

	t->event = grown(t->event, t->events, room, sizeof(*t->event));
	event = &t->event[t->events++];
	if (e->node)
		cpa_dump_row(in->dump, CPA_TABLE_NODES, e->node, &node, sizeof(node));
	*event = (struct cpa_history_event){ .thread = t->thread.id,
					     .number = e->number,
					     .kind = (uint8_t)node.kind,
					     .node = e->node,
					     .class = node.class,
					     .matched = true,
					     .arrived = clock,
					     .now = e->clock };
	return event;
}

static void take_event(struct reading *in, const struct cpa_cursor *c, const struct cpa_entry *e,
		       uint64_t before, struct cpa_history_event *to)
{
	to->process = e->process;
	to->external = e->external;
	to->idle = e->idle;
	to->runqueue = e->runqueue;
	to->untimed = e->uses;
	to->arrived = e->clock;
	/* It has no clock of its own: the wait that contains it was counted already. */
	if (e->clock == before && !e->process && e->external + e->runqueue)
		to->kind = CPA_HISTORY_MORE;
	add_charges(in, c, e, to);
}

/* The kind of the second event that a call makes after an event of @kind. */
static uint8_t kind_after(uint8_t kind)
{
	switch (kind) {
	case CPA_EV_SLEEP:
		return CPA_EV_WAIT;
	case CPA_EV_ARRIVE:
		return CPA_EV_LEAVE;
	case CPA_EV_FORK: /* system() makes this event too */
		return CPA_EV_CHILD;
	case CPA_EV_STOP:
		return CPA_EV_RESTART;
	case CPA_EV_PART_END:
		return CPA_EV_PART;
	case CPA_EV_TEAM_ARRIVE:
	case CPA_EV_TASK_END:
		return CPA_EV_TEAM_LEAVE;
	default:
		return kind;
	}
}

static void take_acquire(struct reading *in, const struct cpa_entry *e,
			 struct cpa_history_event *to, struct cpa_history_event *sleep)
{
	/* A wait that timed out: the event with its external time becomes the WAIT. */
	if (to->kind == CPA_HISTORY_MORE && sleep && sleep->kind == CPA_EV_SLEEP) {
		to->kind = CPA_EV_WAIT;
		to->arrived = sleep->now;
	}
	to->now = e->clock;
	if (to->kind == CPA_EV_FUTEX_WAIT)
		to->kind = CPA_EV_WAIT;
	to->object = e->object;
	to->other = e->other;
	to->queue = e->queue;
	to->item = e->item;
	/* A read, or a wait for one, that might have been blocked, and was not. */
	if (e->stream && to->kind == CPA_EV_EXTERNAL)
		to->kind = CPA_EV_READ;
	to->stream = e->stream;
	to->bytes = e->bytes;
	to->ready = e->ready;
	to->matched = !(e->more & CPA_ACQUIRE_UNMATCHED);
	to->failed = e->more & CPA_ACQUIRE_FAILED;
	if (to->kind == CPA_EV_WAIT && sleep && sleep->kind == CPA_EV_SLEEP)
		sleep->object = e->object;
	if (to->kind == CPA_EV_JOIN || to->kind == CPA_EV_CHILD) {
		to->failed = !to->matched;
		to->peer = e->causes ? cpa_event_thread(e->cause[0]) : 0;
	}
	for (unsigned i = 0; i < e->causes; i++)
		add_cause(in, to, e->cause[i], e->more, i > 0);
}

static void take_release(const struct cpa_entry *e, struct cpa_history_event *to)
{
	if (to->kind == CPA_EV_SLEEP)
		to->other = e->object;
	else if (e->object)
		to->object = e->object;
	if (e->queue) {
		to->queue = e->queue;
		to->item = e->item;
	}
	if (e->count)
		to->count = e->count;
}

static void take_merge(struct reading *in, uint32_t thread, const struct cpa_entry *e)
{
	in->merge = grown(in->merge, in->merges, &in->room_merges, sizeof(*in->merge));
	in->merge[in->merges] = (struct merge){ .cause = { e->cause[0], e->cause[1] } };
	cpa_map_set(&in->merge_of, cpa_event_of(thread, e->number), ++in->merges);
}

static void read_strand(struct reading *in, const struct cpa_strand *s, struct cpa_run_thread *t)
{
	struct cpa_cursor *c = xmalloc(sizeof(*c));
	struct cpa_history_event *event = NULL;
	struct cpa_entry e;
	uint64_t before = s->begun;
	size_t room = 0;

	cpa_cursor_init(c, &in->file, s, 0, s->leaves);
	t->thread =
		(struct cpa_history_thread){ .id = s->id, .row = s->row, .dropped = s->dropped };
	while (cpa_cursor_next(c, &e)) {
		if (e.kind == CPA_ENTRY_MERGE) {
			take_merge(in, s->id, &e);
			continue;
		}
		if (e.kind == CPA_ENTRY_START || e.kind == CPA_ENTRY_EVENT || e.fresh || !event) {
			uint8_t kind = event && e.fresh ? kind_after(event->kind) : 0;

			event = add_event(in, t, &room, &e, before);
			event->kind = kind ? kind : event->kind;
		}
		if (e.kind == CPA_ENTRY_START) {
			event->kind = CPA_EV_START;
			t->thread.slot = c->slot;
		} else if (e.kind == CPA_ENTRY_EVENT) {
			take_event(in, c, &e, before, event);
		} else if (e.kind == CPA_ENTRY_ACQUIRE) {
			take_acquire(in, &e, event, event > t->event ? event - 1 : NULL);
		} else {
			take_release(&e, event);
		}
		before = e.clock;
	}
	cpa_cursor_fini(c);
	free(c);
	in->run->events += t->events;
	in->run->dropped += s->dropped;
}

static int compare_names(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static struct merge *merge_of(struct reading *in, cpa_event_name name)
{
	uint64_t at = cpa_map_get(&in->merge_of, name);

	return at ? &in->merge[at - 1] : NULL;
}

static void add_resolved(struct reading *in, cpa_event_name name)
{
	in->resolved.name = grown(in->resolved.name, in->resolved.used, &in->resolved.room,
				  sizeof(*in->resolved.name));
	in->resolved.name[in->resolved.used++] = name;
}

/* Both causes of @m are resolved: join their lists, keeping the latest release of each thread. */
static void unite(struct reading *in, struct merge *m)
{
	size_t to;

	m->first = in->resolved.used;
	for (unsigned i = 0; i < 2; i++) {
		const struct merge *from = merge_of(in, m->cause[i]);

		for (size_t k = 0; from && k < from->count; k++)
			add_resolved(in, in->resolved.name[from->first + k]);
		if (!from)
			add_resolved(in, m->cause[i]);
	}
	qsort(&in->resolved.name[m->first], in->resolved.used - m->first, sizeof(cpa_event_name),
	      compare_names);
	to = m->first;
	for (size_t k = m->first; k < in->resolved.used; k++) {
		cpa_event_name name = in->resolved.name[k];

		if (to > m->first &&
		    cpa_event_thread(in->resolved.name[to - 1]) == cpa_event_thread(name))
			to--;
		in->resolved.name[to++] = name;
	}
	in->resolved.used = to;
	m->count = to - m->first;
	m->done = true;
}

/* Depth first: causes of a merge are resolved before the merge. */
static void resolve(struct reading *in, const struct merge *m)
{
	size_t used = 1, room = 0;
	size_t *stack = grown(NULL, 0, &room, sizeof(*stack)); /* indices of merges */

	stack[0] = (size_t)(m - in->merge);
	while (used) {
		struct merge *top = &in->merge[stack[used - 1]], *wanted = NULL;

		for (unsigned i = 0; i < 2 && !top->done; i++) {
			struct merge *from = merge_of(in, top->cause[i]);

			if (from && !from->done)
				wanted = from;
		}
		/*
		 * A circle of merges means damaged records: otherwise `used` is at most the number
		 * of merges.
		 */
		if (wanted && used <= in->merges) {
			stack = grown(stack, used, &room, sizeof(*stack));
			stack[used++] = (size_t)(wanted - in->merge);
			continue;
		}
		if (!top->done)
			unite(in, top);
		used--;
	}
	free(stack);
}

/*
 * Replace merges among the causes of @event by their releases, appended to @to. Return the number
 * of causes in @to.
 */
static void spread_causes(struct reading *in, struct cpa_history_event *event,
			  struct cpa_cause **to, size_t *used, size_t *room, size_t *from)
{
	uint32_t causes = event->causes;

	event->causes = 0;
	for (uint32_t i = 0; i < causes; i++) {
		struct cpa_cause cause = in->run->cause[(*from)++];
		struct merge *m = merge_of(in, cpa_event_of(cause.thread, cause.number));

		if (m && !m->done)
			resolve(in, m);
		for (size_t k = 0; k < (m ? m->count : 1); k++) {
			if (m) {
				cause.thread = cpa_event_thread(in->resolved.name[m->first + k]);
				cause.number = (uint32_t)in->resolved.name[m->first + k];
			}
			*to = grown(*to, *used, room, sizeof(**to));
			(*to)[(*used)++] = cause;
			event->causes++;
		}
	}
}

/* All causes and charges are in place: set the events' pointers to them. */
static void link_events(struct reading *in)
{
	struct cpa_run *run = in->run;
	struct cpa_cause *cause = NULL;
	size_t used = 0, room = 0, from = 0, at = 0, charge = 0;

	for (size_t i = 0; i < run->threads; i++)
		for (size_t k = 0; k < run->thread[i].events; k++)
			spread_causes(in, &run->thread[i].event[k], &cause, &used, &room, &from);
	free(run->cause);
	run->cause = cause;
	for (size_t i = 0; i < run->threads; i++) {
		for (size_t k = 0; k < run->thread[i].events; k++) {
			struct cpa_history_event *e = &run->thread[i].event[k];

			e->cause = run->cause ? run->cause + at : NULL;
			e->charge = run->charge ? run->charge + charge : NULL;
			at += e->causes;
			charge += e->charges;
		}
	}
}

/* Store in CREATE events the thread that they made. */
static void link_threads(struct cpa_run *run)
{
	for (size_t i = 0; i < run->threads; i++) {
		const struct cpa_history_event *start = run->thread[i].event;
		struct cpa_history_event *create;

		if (!run->thread[i].events || start->kind != CPA_EV_START || !start->causes)
			continue;
		create = (struct cpa_history_event *)cpa_run_event(run, start->cause[0].thread,
								   start->cause[0].number);
		if (create && (create->kind == CPA_EV_CREATE || create->kind == CPA_EV_FORK ||
			       create->kind == CPA_EV_EXEC))
			create->peer = start->thread;
	}
}

struct cpa_run *cpa_run_read(struct cpa_dump *dump, char **error)
{
	struct reading in = { .dump = dump };
	struct cpa_thread row;
	struct cpa_run *run;

	if (!cpa_journal_open(&in.file, dump, error)) {
		if (!*error &&
		    asprintf(error, "%s: it has no journal (cpa run --journal)", dump->file) < 0)
			xmalloc_failed(100);
		return NULL;
	}
	run = in.run = xcalloc(1, sizeof(*run));
	run->threads = in.file.strands;
	run->thread = xcalloc(run->threads ? run->threads : 1, sizeof(*run->thread));
	run->start = dump->header.start_ticks;
	run->end = dump->header.end_ticks;
	if (dump->header.exit_thread &&
	    cpa_dump_row(dump, CPA_TABLE_THREADS, dump->header.exit_thread, &row, sizeof(row)))
		run->exit_thread = (uint32_t)row.key;
	for (size_t i = 0; i < run->threads; i++)
		read_strand(&in, &in.file.strand[i], &run->thread[i]);
	link_events(&in);
	link_threads(run);
	cpa_map_fini(&in.merge_of);
	free(in.merge);
	free(in.resolved.name);
	cpa_journal_close(&in.file);
	return run;
}

void cpa_run_free(struct cpa_run *run)
{
	if (!run)
		return;
	for (size_t i = 0; i < run->threads; i++)
		free(run->thread[i].event);
	free(run->thread);
	free(run->cause);
	free(run->charge);
	free(run);
}

size_t cpa_run_find_thread(const struct cpa_run *run, uint32_t thread)
{
	size_t low = 0, high = run->threads;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (run->thread[middle].thread.id < thread)
			low = middle + 1;
		else
			high = middle;
	}
	return low < run->threads && run->thread[low].thread.id == thread ? low : SIZE_MAX;
}

const struct cpa_history_event *cpa_run_event(const struct cpa_run *run, uint32_t thread,
					      uint32_t number)
{
	size_t at = cpa_run_find_thread(run, thread), low = 0, high;
	const struct cpa_run_thread *t;

	if (at == SIZE_MAX)
		return NULL;
	t = &run->thread[at];
	high = t->events;
	while (low < high) {
		size_t middle = (low + high) / 2;

		/* Modulo 2^32, as numbers wrap. */
		if (t->event[middle].number - t->event[0].number < number - t->event[0].number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < t->events && t->event[low].number == number ? &t->event[low] : NULL;
}
