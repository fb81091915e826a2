/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/known_graph.h - a program activity graph and its longest path, by search
 *
 * Header-only: known_path.c fills the graph from a run, known_path_check.c by hand. A thread's
 * rows are written by that thread alone; the search runs when all have ended. It walks forward,
 * a thread as far as the releases it depends on are known, and shares no idea with the profiler,
 * which carries vectors along.
 */
#ifndef CPA_TESTS_KNOWN_GRAPH_H
#define CPA_TESTS_KNOWN_GRAPH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define KP_THREADS	  16
#define KP_EVENT_BITS	  13
#define KP_EVENTS	  (1 << KP_EVENT_BITS) /* per thread */
#define KP_EDGES	  8192		       /* per thread */
#define KP_OBSERVED_CLOSE 5000		       /* ns */
#define KP_SHIFT	  0.02 /* of a component's weight, to see whether its share is unique */
#define KP_TIED_SHARE	  0.01 /* of the path */

/* Number of a thread and index of one of its events; 0 is no event. */
typedef uint32_t kp_id;

struct kp_event {
	int64_t at_ns;	      /* wall clock */
	int64_t weight_ns;    /* of the activity that ended here */
	int64_t idle_ns;      /* of an external one: what weighs nothing */
	int64_t asked_ns;     /* of the weight, CPU time that was asked for: so much at least */
	double longest_ns;    /* path to here, of the last search */
	kp_id via;	      /* the release it came along; 0: from the event before */
	uint32_t active;      /* components of the activity, one bit each */
	uint16_t edge, edges; /* releases it depends on: the first, and how many */
	bool external;
};

struct kp_row {
	unsigned number, events, edges;
	unsigned searched; /* events */
	struct kp_event event[KP_EVENTS];
	kp_id edge[KP_EDGES];
};

struct kp_graph {
	atomic_uint count;
	struct kp_row *row[KP_THREADS];
};

/* What the search and the log say of a component. */
struct kp_expected {
	double share_ns, saved_ns;   /* of the longest path */
	int64_t cpu_ns, external_ns; /* on any path */
	bool tied;		     /* another path, with another share, is nearly as long */
};

/* The observed path, walked back from the end. */
struct kp_observed {
	int64_t process_ns, external_ns;
	bool tied; /* somewhere a release and the arrival it let through were simultaneous */
};

static inline struct kp_event *kp_graph_event(const struct kp_graph *graph, kp_id id)
{
	return &graph->row[(id - 1) >> KP_EVENT_BITS]->event[(id - 1) % KP_EVENTS];
}

static inline kp_id kp_graph_last(const struct kp_row *row)
{
	return (row->number << KP_EVENT_BITS) + row->events;
}

/* Return the id of the new event, 0 if there are too many. */
static inline kp_id kp_graph_add_event(struct kp_row *row, int64_t weight_ns, uint32_t active)
{
	if (row->events == KP_EVENTS)
		return 0;
	row->event[row->events++] = (struct kp_event){
		.weight_ns = weight_ns,
		.active = active,
		.edge = (uint16_t)row->edges,
	};
	return kp_graph_last(row);
}

/* The last event of @row depends on @from. Return false if there are too many edges. */
static inline bool kp_graph_add_edge(struct kp_row *row, kp_id from)
{
	if (row->edges == KP_EDGES)
		return false;
	row->edge[row->edges++] = from;
	row->event[row->events - 1].edges++;
	return true;
}

/* Its event 0 stands for its begin. Return NULL without memory. */
static inline struct kp_row *kp_graph_add_row(struct kp_graph *graph)
{
	unsigned number = atomic_fetch_add(&graph->count, 1);
	struct kp_row *row = number < KP_THREADS ? calloc(1, sizeof(*row)) : NULL;

	if (!row)
		return NULL;
	row->number = number;
	kp_graph_add_event(row, 0, 0);
	graph->row[number] = row;
	return row;
}

/* In place of a component: activities weigh what they were asked to take. */
#define KP_ASKED (-2)

static inline double kp_graph_weight(const struct kp_event *event, int component, double factor)
{
	bool scaled = component >= 0 && event->active >> component & 1;

	if (component == KP_ASKED)
		return (double)event->asked_ns;
	return (double)event->weight_ns * (scaled ? factor : 1);
}

/* Return false if a release that the next event of @row depends on is not searched yet. */
static inline bool kp_graph_step(const struct kp_graph *graph, struct kp_row *row, int component,
				 double factor)
{
	struct kp_event *event = &row->event[row->searched];
	double longest_ns = kp_graph_weight(event, component, factor);
	kp_id via = 0;
	unsigned i;

	if (row->searched)
		longest_ns += event[-1].longest_ns;
	for (i = event->edge; i < (unsigned)event->edge + event->edges; i++) {
		kp_id from = row->edge[i];
		struct kp_row *other = graph->row[(from - 1) >> KP_EVENT_BITS];

		if ((from - 1) % KP_EVENTS >= other->searched)
			return false;
		if (kp_graph_event(graph, from)->longest_ns > longest_ns) {
			longest_ns = kp_graph_event(graph, from)->longest_ns;
			via = from;
		}
	}
	event->longest_ns = longest_ns;
	event->via = via;
	row->searched++;
	return true;
}

/* The event at which the longest path of the last search ends. */
static inline kp_id kp_graph_end(const struct kp_graph *graph)
{
	kp_id end = kp_graph_last(graph->row[0]);
	unsigned t;

	for (t = 1; t < graph->count; t++) {
		kp_id last = kp_graph_last(graph->row[t]);

		if (kp_graph_event(graph, last)->longest_ns >
		    kp_graph_event(graph, end)->longest_ns)
			end = last;
	}
	return end;
}

/*
 * Length in ns of the longest path when the activities of @component (-1: of none) weigh @factor
 * of what they do; negative if the graph has a cycle, or an edge from an event it does not have.
 */
static inline double kp_graph_search(const struct kp_graph *graph, int component, double factor)
{
	bool progress = true;
	unsigned t;

	for (t = 0; t < graph->count; t++)
		graph->row[t]->searched = 0;
	while (progress) {
		progress = false;
		for (t = 0; t < graph->count; t++) {
			while (graph->row[t]->searched < graph->row[t]->events &&
			       kp_graph_step(graph, graph->row[t], component, factor))
				progress = true;
		}
	}
	for (t = 0; t < graph->count; t++) {
		if (graph->row[t]->searched < graph->row[t]->events)
			return -1;
	}
	return kp_graph_event(graph, kp_graph_end(graph))->longest_ns;
}

/* Weight of @component's activities on the path that the last search found. */
static inline double kp_graph_share(const struct kp_graph *graph, int component)
{
	kp_id id = kp_graph_end(graph);
	double share_ns = 0;

	for (;;) {
		const struct kp_event *event = kp_graph_event(graph, id);

		if (event->via) {
			id = event->via;
			continue;
		}
		if (event->active >> component & 1)
			share_ns += (double)event->weight_ns;
		if ((id - 1) % KP_EVENTS == 0)
			return share_ns;
		id--;
	}
}

/* What all activities were asked to take. */
static inline int64_t kp_graph_asked(const struct kp_graph *graph)
{
	int64_t asked_ns = 0;
	unsigned t, i;

	for (t = 0; t < graph->count; t++) {
		for (i = 0; i < graph->row[t]->events; i++)
			asked_ns += graph->row[t]->event[i].asked_ns;
	}
	return asked_ns;
}

static inline void kp_graph_total(const struct kp_graph *graph, int component,
				  struct kp_expected *expected)
{
	unsigned t, i;

	for (t = 0; t < graph->count; t++) {
		for (i = 0; i < graph->row[t]->events; i++) {
			const struct kp_event *event = &graph->row[t]->event[i];

			if (!(event->active >> component & 1))
				continue;
			if (event->external)
				expected->external_ns += event->weight_ns + event->idle_ns;
			else
				expected->cpu_ns += event->weight_ns;
		}
	}
}

/*
 * The share of a component is the slope of the path's length over the component's weight. Where
 * another path with another share is nearly as long, the slope jumps.
 */
static inline struct kp_expected kp_graph_expect(const struct kp_graph *graph, int component)
{
	double longest_ns = kp_graph_search(graph, component, 1);
	struct kp_expected expected = { .share_ns = kp_graph_share(graph, component) };
	double above_ns, below_ns;

	above_ns = (kp_graph_search(graph, component, 1 + KP_SHIFT) - longest_ns) / KP_SHIFT;
	below_ns = (longest_ns - kp_graph_search(graph, component, 1 - KP_SHIFT)) / KP_SHIFT;
	expected.tied = above_ns - below_ns > KP_TIED_SHARE * longest_ns;
	expected.saved_ns = longest_ns - kp_graph_search(graph, component, 0);
	kp_graph_total(graph, component, &expected);
	return expected;
}

/*
 * Of the releases that @id depends on, the latest, if it came after the thread arrived, which it
 * did at its event before; else 0. A thread's begin always follows its creator.
 */
static inline kp_id kp_graph_waited_for(const struct kp_graph *graph, kp_id id, bool *tied)
{
	const struct kp_row *row = graph->row[(id - 1) >> KP_EVENT_BITS];
	const struct kp_event *event = kp_graph_event(graph, id);
	bool begins = (id - 1) % KP_EVENTS == 0;
	kp_id latest = 0;
	unsigned i;

	for (i = event->edge; i < (unsigned)event->edge + event->edges; i++) {
		if (!latest || kp_graph_event(graph, row->edge[i])->at_ns >
				       kp_graph_event(graph, latest)->at_ns)
			latest = row->edge[i];
	}
	if (latest && !begins) {
		int64_t after_ns = kp_graph_event(graph, latest)->at_ns - event[-1].at_ns;
		bool own = (latest - 1) >> KP_EVENT_BITS == (id - 1) >> KP_EVENT_BITS;

		if (!own && after_ns < KP_OBSERVED_CLOSE && after_ns > -KP_OBSERVED_CLOSE)
			*tied = true;
		if (after_ns <= 0)
			latest = 0;
	}
	return latest;
}

/* The chain of activities that ended with the last event of row 0. */
static inline struct kp_observed kp_graph_observed(const struct kp_graph *graph)
{
	struct kp_observed observed = { 0, 0, false };
	kp_id id = kp_graph_last(graph->row[0]);

	for (;;) {
		const struct kp_event *event = kp_graph_event(graph, id);
		kp_id release = kp_graph_waited_for(graph, id, &observed.tied);

		if (release) {
			id = release;
			continue;
		}
		if (event->external)
			observed.external_ns += event->weight_ns + event->idle_ns;
		else
			observed.process_ns += event->weight_ns;
		if ((id - 1) % KP_EVENTS == 0)
			return observed;
		id--;
	}
}

#endif
