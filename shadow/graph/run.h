/* SPDX-License-Identifier: MIT */
/*
 * shadow/graph/run.h - the usual activity: only CPU time, for components that are known at once
 *
 * This is most of cpa's cost. All other cases of an activity are in shadow/graph/activity.c, which
 * gives the same results.
 */
#ifndef CPA_SHADOW_GRAPH_RUN_H
#define CPA_SHADOW_GRAPH_RUN_H

#include "shadow/graph/activity.h"
#include "shadow/graph/checkpoint.h"
#include "shadow/graph/component.h"
#include "shadow/graph/mix.h"
#include "shadow/graph/owed.h"
#include "shadow/path/path.h"
#include "shadow/graph/summary.h"

/* Destination of an activity's time, held in registers because stores to the row follow. */
struct cpa_charging {
	struct cpa_self *self;
	struct cpa_path *path;
	uint64_t *total;
	uint64_t slots; /* length of `total` */
	uint64_t ticks; /* ticks of the activity, reserved in the path, for cpa_charge() */
	cpa_lanes lanes;
};

static inline struct cpa_charging cpa_charging(struct cpa_self *self, uint64_t ticks)
{
	struct cpa_thread *row = self->row;

	return (struct cpa_charging){ .self = self,
				      .path = &row->path,
				      .total = cpa_at(row->totals),
				      .slots = row->totals_slots,
				      .ticks = ticks,
				      .lanes = cpa_path_lanes(ticks) };
}

/*
 * Charge the component of @slot with the activity, and add @total ticks to the thread's total of
 * the slot.
 */
static inline __attribute__((always_inline)) void cpa_charge(const struct cpa_charging *c,
							     uint32_t slot, uint64_t total)
{
	if (unlikely(!slot))
		return;
	cpa_path_add_lanes(c->self, c->path, slot, c->ticks, c->lanes);
	if (likely(slot < c->slots))
		c->total[slot] += total;
}

/*
 * Return the id of the one function that cpa_activity_end() would charge with all of an activity
 * of @process ticks without samples and calls; 0: there may be several.
 */
static inline uint32_t cpa_run_function(struct cpa_self *self, uint64_t process,
					const struct cpa_edge_cache *cache,
					const struct cpa_edge *edge)
{
	const uint64_t *mix;

	/* Relaxed: see cpa_mix_add(). Words are filled in order. */
	mix = __atomic_load_n(&cache->mix[0], __ATOMIC_RELAXED) ? cache->mix : edge->mix;
	/* Relaxed: see cpa_mix_add(). */
	if (__atomic_load_n(&mix[1], __ATOMIC_RELAXED))
		return 0;
	/* Relaxed: see cpa_mix_add(). */
	if (__atomic_load_n(&mix[0], __ATOMIC_RELAXED))
		return cpa_mix_function(__atomic_load_n(&mix[0], __ATOMIC_RELAXED));
	return cpa_owed_function(self, process);
}

/*
 * As cpa_activity_end(), for an activity of @process ticks of CPU time only, which leads to the
 * event of @node. *@hint: 0 or the value left by an earlier call of the thread, the likely place of
 * the edge.
 */
static inline __attribute__((always_inline)) void
cpa_activity_run(struct cpa_self *self, uint64_t process, uint32_t node, unsigned *hint)
{
	struct cpa_thread *row = self->row;
	uint64_t key = cpa_summary_key(row->node, node, false);
	unsigned at = *hint;
	struct cpa_edge_cache *cache;
	struct cpa_charging c;
	uint32_t function;

	if (unlikely(self->edge[at].key != ~key))
		at = cpa_summary_find(self, key);

	if (unlikely(at == CPA_EDGE_CACHE || cpa_component_moved() != self->moves ||
		     process > CPA_DELTA_MOST || !cpa_path_has_room(&row->path, process))) {
		cpa_activity_run_slow(self, process, node);
		return;
	}
	*hint = at;
	cache = &self->edges[at];
	cpa_writing(row);
	c = cpa_charging(self, process);
	row->path.len += process;
	row->path.observed[CPA_TIME_PROCESS] += process;
	row->process += process;
	row->events++;
	row->node = node;
	row->path.node = node;
	cpa_summary_count(cache);
	cache->weight += process;
	cpa_summary_passed(self, cache, process);
	cpa_charge(&c, row->thread_slot, process);
	for (unsigned i = 0; unlikely(i < row->held_count); i++)
		cpa_charge(&c, row->held_slot[i], process);
	function = cpa_run_function(self, process, cache, self->edge[at].row);
	if (likely(function))
		cpa_charge(&c, cpa_function_slot(function), process);
	else
		cpa_activity_attribute(self, process, cache);
	cpa_written(row);
}

#endif
