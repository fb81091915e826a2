/* SPDX-License-Identifier: MIT */
#include "analysis/exact/lanes.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>

#include "analysis/exact/walk.h"

uint64_t cpa_lanes_begin(const struct cpa_lanes *lanes, size_t lane, size_t event)
{
	const struct cpa_history_event *e = lanes->run->thread[lane].event;

	return event ? e[event - 1].now : e->arrived;
}

static bool starts(const struct cpa_history_event *e)
{
	return e->kind == CPA_EV_START;
}

const struct cpa_history_event *cpa_lanes_release(const struct cpa_lanes *lanes,
						  const struct cpa_history_event *event,
						  size_t *lane)
{
	const struct cpa_history_event *latest = NULL;

	for (uint32_t i = 0; i < event->causes; i++) {
		const struct cpa_cause *cause = &event->cause[i];
		const struct cpa_history_event *e =
			cpa_run_event(lanes->run, cause->thread, cause->number);

		if (!e || (!starts(event) && (!cause->waited_for || e->arrived <= event->arrived)))
			continue;
		if (latest && e->arrived <= latest->arrived)
			continue;
		latest = e;
		*lane = cpa_run_find_thread(lanes->run, cause->thread);
	}
	return latest;
}

/* The critical path. */

struct marking {
	struct cpa_lanes *lanes;
	const struct cpa_journal_file *file;
};

static void mark(void *argument, const struct cpa_step *step)
{
	const struct marking *m = argument;
	uint32_t thread = m->file->strand[step->strand].id;
	const struct cpa_history_event *e = cpa_run_event(m->lanes->run, thread, step->number);

	if (e)
		m->lanes->on[step->strand][e - m->lanes->run->thread[step->strand].event] |=
			CPA_ON_CRITICAL;
}

static int mark_critical(struct cpa_lanes *lanes, struct cpa_dump *dump, char **error)
{
	struct cpa_journal_file file;
	struct marking marking = { lanes, &file };
	struct cpa_exact *exact;

	if (!cpa_journal_open(&file, dump, error))
		return -1;
	exact = cpa_exact_new(&file);
	cpa_exact_run(exact);
	/* Lanes and strands are the same threads in the same order. */
	lanes->critical =
		cpa_walk(exact, exact->longest, exact->strand[exact->longest].last, mark, &marking);
	cpa_exact_free(exact);
	cpa_journal_close(&file);
	return 0;
}

/* The observed path. */

struct back {
	struct cpa_lanes *lanes;
	size_t room;
	size_t lane, event;
	uint64_t now;	/* all behind it is in pieces */
	unsigned stuck; /* releases followed without a step back in time */
};

static void add_piece(struct back *b, uint64_t from, enum cpa_piece_kind kind)
{
	struct cpa_lanes *l = b->lanes;

	if (from >= b->now)
		return;
	if (l->pieces == b->room) {
		b->room = b->room ? 2 * b->room : 256;
		l->piece = XRESIZEVEC(struct cpa_piece, l->piece, b->room);
	}
	l->piece[l->pieces++] = (struct cpa_piece){
		.lane = b->lane, .event = b->event, .from = from, .to = b->now, .kind = kind
	};
	if (kind == CPA_PIECE_ACTIVITY)
		l->on[b->lane][b->event] |= CPA_ON_ACTIVITY;
	else if (kind != CPA_PIECE_BEYOND)
		l->on[b->lane][b->event] |= CPA_ON_WAIT;
	b->now = from;
	b->stuck = 0;
}

/* Go to what lane @lane did at the present time: its first event that returned then or later. */
static bool enter(struct back *b, size_t lane)
{
	const struct cpa_run_thread *t = &b->lanes->run->thread[lane];
	size_t low = 0, high = t->events;

	if (!high)
		return false;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (t->event[middle].now < b->now)
			low = middle + 1;
		else
			high = middle;
	}
	b->lane = lane;
	b->event = low < t->events ? low : t->events - 1;
	if (low == t->events)
		add_piece(b, t->event[b->event].now, CPA_PIECE_BEYOND);
	return true;
}

/*
 * Follow the release that ended the wait at the present event. Return false if there is none, or if
 * releases of one moment lead round in a circle.
 */
static bool follow(struct back *b)
{
	const struct cpa_history_event *e = &b->lanes->run->thread[b->lane].event[b->event];
	size_t lane;
	const struct cpa_history_event *release = cpa_lanes_release(b->lanes, e, &lane);

	if (!release || b->stuck > b->lanes->run->threads)
		return false;
	b->stuck++;
	add_piece(b, release->arrived, CPA_PIECE_WOKEN);
	return enter(b, lane);
}

/* Add the pieces of the present event and go before it. Return false at the beginning. */
static bool step_back(struct back *b)
{
	const struct cpa_history_event *e = &b->lanes->run->thread[b->lane].event[b->event];

	if (starts(e) ? b->event == 0 : b->now > e->arrived)
		if (follow(b))
			return true;
	add_piece(b, e->arrived, CPA_PIECE_WAIT);
	add_piece(b, cpa_lanes_begin(b->lanes, b->lane, b->event), CPA_PIECE_ACTIVITY);
	if (b->event == 0) {
		add_piece(b, b->lanes->from, CPA_PIECE_BEYOND);
		return false;
	}
	b->event--;
	return true;
}

/* From the end of the run back, beginning in the thread with id @ends. */
static void walk_observed(struct cpa_lanes *lanes, uint32_t ends)
{
	struct cpa_run *run = lanes->run;
	struct back b = { .lanes = lanes, .now = lanes->to };
	size_t last = cpa_run_find_thread(run, ends);
	/* Each event is left once in each of its two parts, but for circles of one moment. */
	size_t left = 4 * run->events + 4 * run->threads + 4;

	if (last == SIZE_MAX) {
		/* Not known: begin with the latest event. */
		last = 0;
		for (size_t i = 0; i < run->threads; i++)
			if (run->thread[i].events &&
			    (!run->thread[last].events ||
			     run->thread[i].event[run->thread[i].events - 1].now >
				     run->thread[last].event[run->thread[last].events - 1].now))
				last = i;
	}
	if (run->threads && enter(&b, last))
		while (b.now > lanes->from && left-- && step_back(&b))
			;
	for (size_t i = 0; i < lanes->pieces / 2; i++) {
		struct cpa_piece swap = lanes->piece[i];

		lanes->piece[i] = lanes->piece[lanes->pieces - 1 - i];
		lanes->piece[lanes->pieces - 1 - i] = swap;
	}
}

static void set_ends(struct cpa_lanes *lanes)
{
	const struct cpa_run *run = lanes->run;

	lanes->from = run->start;
	lanes->to = run->end;
	for (size_t i = 0; i < run->threads; i++)
		for (size_t k = run->thread[i].events; !run->end && k == run->thread[i].events && k;
		     k--)
			if (run->thread[i].event[k - 1].now > lanes->to)
				lanes->to = run->thread[i].event[k - 1].now;
}

struct cpa_lanes *cpa_lanes_build(struct cpa_dump *dump, uint32_t ends, char **error)
{
	struct cpa_lanes *lanes = XCNEW(struct cpa_lanes);

	lanes->run = cpa_run_read(dump, error);
	if (!lanes->run) {
		free(lanes);
		return NULL;
	}
	lanes->on = XCNEWVEC(uint8_t *, lanes->run->threads + 1);
	for (size_t i = 0; i < lanes->run->threads; i++)
		lanes->on[i] = XCNEWVEC(uint8_t, lanes->run->thread[i].events + 1);
	set_ends(lanes);
	if (mark_critical(lanes, dump, error) < 0) {
		cpa_lanes_free(lanes);
		return NULL;
	}
	walk_observed(lanes, ends);
	return lanes;
}

void cpa_lanes_free(struct cpa_lanes *lanes)
{
	if (!lanes)
		return;
	for (size_t i = 0; i < lanes->run->threads; i++)
		free(lanes->on[i]);
	free(lanes->on);
	free(lanes->piece);
	cpa_run_free(lanes->run);
	free(lanes);
}
