/* SPDX-License-Identifier: MIT */
/* analysis/page/html_waits.c - who waited for whom, and how full queues were over time */
#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/page/html_sums.h"
#include "analysis/render/json_put.h"
#include "analysis/profile/components.h"
#include "analysis/profile/pag.h"
#include "analysis/profile/queues.h"

#define ROWS_MOST 200u
#define BINS	  240u

/*
 * Waits of threads of one class for those of another, at events of one kind and class of objects.
 */
struct wait {
	uint32_t node; /* one of them, for its kind and class */
	uint32_t class;
	uint8_t kind;
	uint32_t waiter, releaser; /* slots of their classes; 0: no releaser is known */
	uint64_t count, crossed, ticks, longest;
};

struct waits {
	const struct cpa_lanes *lanes;
	struct wait *wait;
	size_t waits, room;
};

static struct wait *find(struct waits *w, const struct wait *wanted)
{
	for (size_t i = w->waits; i-- > 0;) {
		struct wait *wait = &w->wait[i];

		if (wait->class == wanted->class && wait->kind == wanted->kind &&
		    wait->waiter == wanted->waiter && wait->releaser == wanted->releaser)
			return wait;
	}
	if (w->waits == w->room) {
		w->room = w->room ? 2 * w->room : 64;
		w->wait = XRESIZEVEC(struct wait, w->wait, w->room);
	}
	w->wait[w->waits] = *wanted;
	return &w->wait[w->waits++];
}

static void add_wait(struct waits *w, size_t lane, size_t event)
{
	const struct cpa_run *run = w->lanes->run;
	const struct cpa_history_event *e = &run->thread[lane].event[event], *of = e;
	size_t releaser = 0;
	const struct cpa_history_event *release = cpa_lanes_release(w->lanes, e, &releaser);
	struct wait wanted, *wait;

	if (e->now <= e->arrived)
		return;
	/* The second event of a call, as the return of a condition, has the node of the first. */
	if (!of->node && event)
		of--;
	wanted = (struct wait){ .node = of->node,
				.class = of->class,
				.kind = e->kind,
				.waiter = run->thread[lane].thread.slot,
				.releaser = release ? run->thread[releaser].thread.slot : 0 };
	wait = find(w, &wanted);
	wait->count++;
	wait->ticks += e->now - e->arrived;
	if (e->now - e->arrived > wait->longest)
		wait->longest = e->now - e->arrived;
	if (release && w->lanes->on[lane][event] & CPA_ON_WAIT)
		wait->crossed++;
}

static int by_ticks(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	return x->ticks > y->ticks ? -1 : x->ticks < y->ticks;
}

static void put_class(json_t *object, const char *key, const struct cpa_profile *profile,
		      uint32_t slot)
{
	const struct cpa_component_figures *component =
		slot ? cpa_profile_component(profile, slot, CPA_THREAD) : NULL;

	put_text(object, key, component ? component->name : NULL);
}

json_t *cpa_html_waits(const struct cpa_lanes *lanes, const struct cpa_profile *profile)
{
	struct waits w = { .lanes = lanes };
	json_t *array = json_array();

	for (size_t i = 0; i < lanes->run->threads; i++)
		for (size_t k = 0; k < lanes->run->thread[i].events; k++)
			add_wait(&w, i, k);
	if (w.waits)
		qsort(w.wait, w.waits, sizeof(*w.wait), by_ticks);
	for (size_t i = 0; i < w.waits && i < ROWS_MOST; i++) {
		const struct wait *wait = &w.wait[i];
		const struct cpa_node_figures *node = cpa_profile_node(profile, wait->node);
		json_t *object = json_object();

		put_text(object, "kind", node ? node->kind : NULL);
		put_text(object, "class", node ? node->class : NULL);
		put_class(object, "waiter", profile, wait->waiter);
		put_class(object, "releaser", profile, wait->releaser);
		put_count(object, "count", wait->count);
		put_count(object, "crossed", wait->crossed);
		put_real(object, "wait_s", (double)wait->ticks * profile->tick_s);
		put_real(object, "longest_s", (double)wait->longest * profile->tick_s);
		json_array_append_new(array, object);
	}
	free(w.wait);
	return array;
}

/* Of one queue class, in each part of the run. */
struct depth {
	double mean[BINS], in[BINS], out[BINS];
	double later[BINS + 1]; /* items more than before, from the begin of a part on */
};

/* One item more (@sign 1) or less (-1) from the place @at on, in parts of the run. */
static void step(struct depth *depth, double at, int sign)
{
	size_t bin = at < 0 ? 0 : at >= BINS ? BINS - 1 : (size_t)at;
	double inside = at - (double)bin;

	depth->mean[bin] += sign * (1 - (inside < 0 ? 0 : inside > 1 ? 1 : inside));
	depth->later[bin + 1] += sign;
	(sign > 0 ? depth->in : depth->out)[bin]++;
}

/* The queue of the profile with the class of queue row @row; profile->queues: none. */
static size_t queue_of(const struct cpa_profile *profile, struct cpa_dump *dump, uint32_t row)
{
	struct cpa_queue queue;
	size_t i = 0;

	if (!cpa_dump_row(dump, CPA_TABLE_QUEUES, row, &queue, sizeof(queue)))
		return profile->queues;
	while (i < profile->queues && profile->queue[i].row != queue.component)
		i++;
	return i;
}

static void add_steps(const struct cpa_lanes *lanes, const struct cpa_profile *profile,
		      struct cpa_dump *dump, struct depth *depth)
{
	double span = (double)(lanes->to - lanes->from);
	uint32_t last = 0;
	size_t of = 0;

	for (size_t i = 0; i < lanes->run->threads; i++)
		for (size_t k = 0; k < lanes->run->thread[i].events; k++) {
			const struct cpa_history_event *e = &lanes->run->thread[i].event[k];
			bool in = e->kind == CPA_EV_ENQUEUE;

			if (!e->queue || (!in && (e->kind != CPA_EV_DEQUEUE || !e->matched)))
				continue;
			if (e->queue != last)
				of = queue_of(profile, dump, e->queue);
			last = e->queue;
			if (of < profile->queues)
				step(&depth[of],
				     (double)(in ? e->arrived - lanes->from :
						   e->now - lanes->from) /
					     span * BINS,
				     in ? 1 : -1);
		}
}

json_t *cpa_html_depths(const struct cpa_lanes *lanes, const struct cpa_profile *profile,
			struct cpa_dump *dump)
{
	struct depth *depth = XCNEWVEC(struct depth, profile->queues + 1);
	json_t *array = json_array();

	if (lanes->to > lanes->from && !lanes->run->dropped)
		add_steps(lanes, profile, dump, depth);
	for (size_t i = 0; i < profile->queues; i++) {
		json_t *object = json_object();
		double items = 0;

		for (unsigned k = 0; k < BINS; k++)
			depth[i].mean[k] += items += depth[i].later[k];
		put_count(object, "queue", i);
		json_object_set_new(object, "mean", reals_json(depth[i].mean, BINS));
		json_object_set_new(object, "in", reals_json(depth[i].in, BINS));
		json_object_set_new(object, "out", reals_json(depth[i].out, BINS));
		json_array_append_new(array, object);
	}
	free(depth);
	return array;
}
