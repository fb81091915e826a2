/* SPDX-License-Identifier: MIT */
#include "analysis/export/perfetto.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/export/protobuf.h"
#include "analysis/export/slices.h"
#include "analysis/util/format.h"
#include "analysis/profile/parts.h"
#include "analysis/profile/processes.h"
#include "analysis/profile/queues.h"
#include "analysis/profile/threads.h"

/* Numbers of fields and values, from Perfetto's trace protos. */
enum {
	TRACE_PACKET = 1,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_TRACK = 60,
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
	EVENT_TYPE = 9,
	EVENT_NAME_ID = 10,
	EVENT_TRACK = 11,
	EVENT_NAME = 23,
	EVENT_COUNTER = 30,
	EVENT_FLOW = 47,
	EVENT_FLOW_END = 48,
	INTERNED_NAME = 2,
	NAME_ID = 1,
	NAME_TEXT = 2,
	TYPE_BEGIN = 1,
	TYPE_END = 2,
	TYPE_INSTANT = 3,
	TYPE_COUNTER = 4,
	FLAGS_CLEARED = 1, /* names are new from here on */
	FLAGS_NEEDED = 2,  /* names of before are used */
};

/* Numbers of tracks. Those of threads, queues and processes are added to the last three. */
enum {
	UUID_OBSERVED = 1,
	UUID_CRITICAL,
	UUID_MARKS,
	UUID_WORKING,
	UUID_THREAD = 1 << 8,
	UUID_QUEUE = 1 << 29,
	UUID_PROCESS = 1 << 30,
};

/*
 * An arrow from the activity that ended with a release to the next stretch of the thread that
 * waited.
 */
struct flow {
	size_t lane, event; /* the release */
	uint64_t id;
};

/* A counter changes. */
struct step {
	uint64_t at, uuid;
	int change;
};

struct writing {
	struct cpa_slices slices;
	struct cpa_dump *dump;
	FILE *out;
	struct cpa_bytes trace, packet, part, inner;
	uint64_t start; /* CLOCK_MONOTONIC at the start of the run, ns */
	size_t flows, room_flows;
	struct flow *flow;   /* by lane and event of the release, after they were collected */
	uint64_t **flow_end; /* by lane and event: 0, or the flow that ends its wait */
	size_t steps, room_steps;
	struct step *step;
	bool failed;
};

static void *grown(void *p, size_t used, size_t *room, size_t size)
{
	if (used < *room)
		return p;
	*room = *room ? 2 * *room : 256;
	return xrealloc(p, *room * size);
}

/* Write the packet, which becomes empty. */
static void put_packet(struct writing *w, uint64_t flags)
{
	cpa_message_number(&w->packet, PACKET_SEQUENCE, 1);
	cpa_message_number(&w->packet, PACKET_FLAGS, flags);
	cpa_message_part(&w->trace, TRACE_PACKET, &w->packet);
	w->failed |= fwrite(w->trace.at, 1, w->trace.used, w->out) != w->trace.used;
	w->trace.used = 0;
}

/* Write the track in w->part. */
static void put_track(struct writing *w)
{
	cpa_message_part(&w->packet, PACKET_TRACK, &w->part);
	put_packet(w, FLAGS_NEEDED);
}

static void put_named_track(struct writing *w, uint64_t uuid, const char *name, bool counter)
{
	cpa_message_number(&w->part, TRACK_UUID, uuid);
	cpa_message_text(&w->part, TRACK_NAME, name);
	if (counter)
		cpa_message_part(&w->part, TRACK_COUNTER, &w->inner);
	put_track(w);
}

static uint32_t pid_of(const struct writing *w, const struct cpa_thread_figures *thread)
{
	const struct cpa_profile *profile = w->slices.profile;

	for (size_t i = 0; thread && i < profile->processes; i++)
		if (profile->process[i].id == thread->process)
			return profile->process[i].pid;
	return profile->program.pid;
}

static void put_tracks(struct writing *w)
{
	const struct cpa_profile *profile = w->slices.profile;

	put_named_track(w, UUID_OBSERVED, "observed path", false);
	put_named_track(w, UUID_CRITICAL, "critical path", false);
	put_named_track(w, UUID_MARKS, "marks", false);
	put_named_track(w, UUID_WORKING, "threads working", true);
	for (size_t i = 0; i < profile->queues; i++) {
		char *name = cpa_format_text("items in %s", profile->queue[i].name);

		put_named_track(w, UUID_QUEUE + i, name, true);
		free(name);
	}
	for (size_t i = 0; i < profile->processes; i++) {
		char *title;

		if (!profile->process[i].pid)
			continue;
		title = cpa_process_title(&profile->process[i]);
		cpa_message_number(&w->inner, PROCESS_PID, profile->process[i].pid);
		cpa_message_text(&w->inner, PROCESS_NAME, title);
		free(title);
		cpa_message_number(&w->part, TRACK_UUID, UUID_PROCESS + i);
		cpa_message_part(&w->part, TRACK_PROCESS, &w->inner);
		put_track(w);
	}
	for (size_t i = 0; i < w->slices.lanes->run->threads; i++) {
		const struct cpa_thread_figures *thread = w->slices.thread[i];

		cpa_message_number(&w->inner, THREAD_PID, pid_of(w, thread));
		/* Without a number of the kernel's: one that no thread has. */
		cpa_message_number(&w->inner, THREAD_TID, thread ? thread->tid : (1u << 30) + i);
		cpa_message_text(&w->inner, THREAD_NAME, w->slices.lane_name[i]);
		cpa_message_number(&w->part, TRACK_UUID, UUID_THREAD + i);
		cpa_message_part(&w->part, TRACK_THREAD, &w->inner);
		put_track(w);
	}
}

/* All names at once, before they are used. */
static void put_names(struct writing *w)
{
	for (size_t i = 0; i < w->slices.names; i++) {
		cpa_message_number(&w->inner, NAME_ID, i + 1);
		cpa_message_text(&w->inner, NAME_TEXT, w->slices.name[i]);
		cpa_message_part(&w->part, INTERNED_NAME, &w->inner);
	}
	cpa_message_part(&w->packet, PACKET_INTERNED, &w->part);
	put_packet(w, FLAGS_CLEARED);
}

/* Write the event in w->part, to which type and track are added. */
static void put_event(struct writing *w, uint64_t at, uint64_t uuid, uint64_t type)
{
	cpa_message_number(&w->part, EVENT_TYPE, type);
	cpa_message_number(&w->part, EVENT_TRACK, uuid);
	cpa_message_number(&w->packet, PACKET_TIMESTAMP, w->start + at);
	cpa_message_part(&w->packet, PACKET_EVENT, &w->part);
	put_packet(w, FLAGS_NEEDED);
}

static void add_step(struct writing *w, uint64_t at, uint64_t uuid, int change)
{
	w->step = grown(w->step, w->steps, &w->room_steps, sizeof(*w->step));
	w->step[w->steps++] = (struct step){ at, uuid, change };
}

/* The counter of the queue in row @queue of the dump; 0: none. */
static uint64_t counter_of(const struct writing *w, uint32_t queue)
{
	const struct cpa_profile *profile = w->slices.profile;
	struct cpa_queue row;

	if (!cpa_dump_row(w->dump, CPA_TABLE_QUEUES, queue, &row, sizeof(row)))
		return 0;
	for (size_t i = 0; i < profile->queues; i++)
		if (profile->queue[i].row == row.component)
			return UUID_QUEUE + i;
	return 0;
}

static void note_flow(struct writing *w, size_t lane, size_t event)
{
	const struct cpa_lanes *lanes = w->slices.lanes;
	const struct cpa_history_event *e = &lanes->run->thread[lane].event[event];
	size_t from;
	const struct cpa_history_event *release = cpa_lanes_release(lanes, e, &from);

	if (!release || e->now == e->arrived)
		return;
	w->flow = grown(w->flow, w->flows, &w->room_flows, sizeof(*w->flow));
	w->flow[w->flows] = (struct flow){ from, (size_t)(release - lanes->run->thread[from].event),
					   w->flows + 1 };
	w->flow_end[lane][event] = ++w->flows;
}

static int compare_flows(const void *a, const void *b)
{
	const struct flow *x = a, *y = b;

	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	return x->event < y->event ? -1 : x->event > y->event;
}

static void collect_flows(struct writing *w)
{
	const struct cpa_run *run = w->slices.lanes->run;

	w->flow_end = xcalloc(run->threads + 1, sizeof(*w->flow_end));
	for (size_t lane = 0; lane < run->threads; lane++) {
		w->flow_end[lane] =
			xcalloc(run->thread[lane].events + 1, sizeof(*w->flow_end[lane]));
		for (size_t i = 0; i < run->thread[lane].events; i++)
			note_flow(w, lane, i);
	}
	if (w->flows)
		qsort(w->flow, w->flows, sizeof(*w->flow), compare_flows);
}

/* The beginning of a stretch, with what arrives there: @ends, 0 for nothing. */
static void put_begin(struct writing *w, uint64_t uuid, const struct cpa_slice *slice,
		      uint64_t ends)
{
	cpa_message_number(&w->part, EVENT_NAME_ID, slice->name + 1);
	if (ends)
		cpa_message_fixed(&w->part, EVENT_FLOW_END, ends);
	put_event(w, slice->from, uuid, TYPE_BEGIN);
}

static void put_lane(struct writing *w, size_t lane, size_t *flow)
{
	const struct cpa_run_thread *t = &w->slices.lanes->run->thread[lane];
	uint64_t uuid = UUID_THREAD + lane, ends = 0;
	struct cpa_slice slice;

	for (size_t i = 0; i < t->events; i++) {
		const struct cpa_history_event *e = &t->event[i];
		size_t first = *flow;

		while (*flow < w->flows && w->flow[*flow].lane == lane && w->flow[*flow].event == i)
			++*flow;
		if (cpa_slice_activity(&w->slices, lane, i, &slice)) {
			for (size_t k = first; k < *flow; k++)
				cpa_message_fixed(&w->part, EVENT_FLOW, w->flow[k].id);
			put_begin(w, uuid, &slice, ends);
			put_event(w, slice.to, uuid, TYPE_END);
			add_step(w, slice.from, UUID_WORKING, 1);
			add_step(w, slice.to, UUID_WORKING, -1);
			ends = 0;
		} else {
			/* An activity without length: an instant, so that no arrow is lost. */
			for (size_t k = first; k < *flow; k++) {
				cpa_message_fixed(&w->part, EVENT_FLOW, w->flow[k].id);
				cpa_message_number(&w->part, EVENT_NAME_ID, slice.name + 1);
				put_event(w, slice.to, uuid, TYPE_INSTANT);
			}
		}
		if (cpa_slice_wait(&w->slices, lane, i, &slice)) {
			put_begin(w, uuid, &slice, ends);
			put_event(w, slice.to, uuid, TYPE_END);
			ends = 0;
		}
		if (w->flow_end[lane][i])
			ends = w->flow_end[lane][i];
		if (e->queue && (e->kind == CPA_EV_ENQUEUE || e->kind == CPA_EV_DEQUEUE)) {
			uint64_t counter = counter_of(w, e->queue);

			if (counter)
				add_step(w, cpa_slices_ns(&w->slices, e->now), counter,
					 e->kind == CPA_EV_ENQUEUE ? 1 : -1);
		}
	}
}

static void put_stretch(struct writing *w, uint64_t uuid, uint64_t from, uint64_t to, size_t lane)
{
	if (to <= from)
		return;
	cpa_message_text(&w->part, EVENT_NAME, w->slices.lane_name[lane]);
	put_event(w, from, uuid, TYPE_BEGIN);
	put_event(w, to, uuid, TYPE_END);
}

static void put_paths(struct writing *w)
{
	const struct cpa_lanes *lanes = w->slices.lanes;
	size_t count;
	struct cpa_stretch *critical = cpa_slices_critical(&w->slices, &count);

	for (size_t i = 0; i < lanes->pieces; i++)
		put_stretch(w, UUID_OBSERVED, cpa_slices_ns(&w->slices, lanes->piece[i].from),
			    cpa_slices_ns(&w->slices, lanes->piece[i].to), lanes->piece[i].lane);
	for (size_t i = 0; i < count; i++)
		put_stretch(w, UUID_CRITICAL, critical[i].from, critical[i].to, critical[i].lane);
	free(critical);
}

static void put_marks(struct writing *w)
{
	const struct cpa_profile *profile = w->slices.profile;

	for (size_t i = 0; i < profile->marks; i++) {
		double at = profile->mark[i].at_s * 1e9;

		cpa_message_text(&w->part, EVENT_NAME, profile->mark[i].name);
		put_event(w, at > 0 && at < 1e18 ? (uint64_t)at : 0, UUID_MARKS, TYPE_INSTANT);
	}
}

static int compare_steps(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->uuid != y->uuid)
		return x->uuid < y->uuid ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* One value for each time at which a counter changes. */
static void put_counters(struct writing *w)
{
	int64_t value = 0;

	if (w->steps)
		qsort(w->step, w->steps, sizeof(*w->step), compare_steps);
	for (size_t i = 0; i < w->steps; i++) {
		const struct step *step = &w->step[i];

		value += step->change;
		if (i + 1 < w->steps && step[1].uuid == step->uuid && step[1].at == step->at)
			continue;
		cpa_message_number(&w->part, EVENT_COUNTER, (uint64_t)value);
		put_event(w, step->at, step->uuid, TYPE_COUNTER);
		if (i + 1 < w->steps && step[1].uuid != step->uuid)
			value = 0;
	}
}

static void free_writing(struct writing *w)
{
	for (size_t i = 0; i < w->slices.lanes->run->threads; i++)
		free(w->flow_end[i]);
	free(w->flow_end);
	free(w->flow);
	free(w->step);
	free(w->trace.at);
	free(w->packet.at);
	free(w->part.at);
	free(w->inner.at);
	cpa_slices_fini(&w->slices);
}

int cpa_perfetto_write(struct cpa_dump *dump, const struct cpa_profile *profile, FILE *out,
		       char **error)
{
	struct cpa_lanes *lanes = cpa_lanes_build(dump, profile->program.observed_thread, error);
	struct writing w = { .dump = dump, .out = out, .start = dump->header.start_ns };
	size_t flow = 0;

	if (!lanes)
		return 1;
	cpa_slices_init(&w.slices, dump, lanes, profile);
	collect_flows(&w);
	put_names(&w);
	put_tracks(&w);
	for (size_t i = 0; i < lanes->run->threads; i++)
		put_lane(&w, i, &flow);
	put_paths(&w);
	put_marks(&w);
	put_counters(&w);
	free_writing(&w);
	cpa_lanes_free(lanes);
	return w.failed ? -1 : 0;
}
