/* SPDX-License-Identifier: MIT */
#include "analysis/export/slices.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/symbols/names.h"
#include "analysis/util/format.h"
#include "analysis/profile/components.h"
#include "analysis/profile/pag.h"
#include "analysis/profile/threads.h"

/* Names: this one, then components by index, then waits by index of the node. */
#define NAME_WORK	0
#define NAME_COMPONENTS 1

uint64_t cpa_slices_ns(const struct cpa_slices *slices, uint64_t clock)
{
	uint64_t start = slices->lanes->from;

	return clock > start ?
		       (uint64_t)llround((double)(clock - start) * slices->profile->tick_s * 1e9) :
		       0;
}

static void name_components(struct cpa_slices *slices)
{
	const struct cpa_profile *profile = slices->profile;

	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *c = &profile->component[i];

		slices->name[slices->names++] = c->kind == CPA_EXTERNAL ?
							cpa_format_text("blocked: %s", c->name) :
							xstrdup(c->name);
		if ((c->kind == CPA_FUNCTION || c->kind == CPA_EXTERNAL) && c->slot < slices->slots)
			slices->component[c->slot] = (uint32_t)i + 1;
	}
}

static void name_waits(struct cpa_slices *slices)
{
	for (size_t i = 0; i < slices->profile->nodes; i++) {
		const struct cpa_node_figures *node = &slices->profile->node[i];

		slices->name[slices->names++] = cpa_format_text("wait: %s%s%s", node->kind,
								node->class ? " " : "",
								node->class ? node->class : "");
	}
}

static void name_lanes(struct cpa_slices *slices)
{
	const struct cpa_run *run = slices->lanes->run;

	slices->lane_name = xcalloc(run->threads + 1, sizeof(*slices->lane_name));
	slices->thread = xcalloc(run->threads + 1, sizeof(const struct cpa_thread_figures *));
	for (size_t i = 0; i < run->threads; i++) {
		const struct cpa_history_thread *lane = &run->thread[i].thread;

		for (size_t k = 0; k < slices->profile->threads && !slices->thread[i]; k++)
			if (slices->profile->thread[k].id == lane->id)
				slices->thread[i] = &slices->profile->thread[k];
		if (slices->thread[i])
			slices->lane_name[i] = cpa_format_text(
				"%s %u",
				*slices->thread[i]->last_name ? slices->thread[i]->last_name :
								slices->thread[i]->last_routine,
				slices->thread[i]->tid);
		else
			slices->lane_name[i] = cpa_format_text("thread number %u", lane->id);
	}
}

void cpa_slices_init(struct cpa_slices *slices, const struct cpa_dump *dump,
		     const struct cpa_lanes *lanes, const struct cpa_profile *profile)
{
	size_t most = 1 + profile->components + profile->nodes;

	*slices = (struct cpa_slices){ .lanes = lanes,
				       .profile = profile,
				       .slots = dump->header.slots,
				       .name = xcalloc(most, sizeof(char *)),
				       .component = xcalloc(dump->header.slots + 1,
							    sizeof(*slices->component)) };
	slices->name[slices->names++] = xstrdup("work");
	name_components(slices);
	name_waits(slices);
	name_lanes(slices);
}

void cpa_slices_fini(struct cpa_slices *slices)
{
	for (size_t i = 0; i < slices->names; i++)
		free(slices->name[i]);
	for (size_t i = 0; i < slices->lanes->run->threads; i++)
		free(slices->lane_name[i]);
	free(slices->name);
	free(slices->lane_name);
	free(slices->thread);
	free(slices->component);
}

/* The name of the function or blocking call that took most of the activity. */
static size_t name_of(const struct cpa_slices *slices, const struct cpa_history_event *e)
{
	uint64_t most = 0;
	size_t found = NAME_WORK;

	for (uint32_t i = 0; i < e->charges; i++) {
		const struct cpa_charge *charge = &e->charge[i];

		if (charge->slot < slices->slots && slices->component[charge->slot] &&
		    charge->ticks > most) {
			most = charge->ticks;
			found = NAME_COMPONENTS + slices->component[charge->slot] - 1;
		}
	}
	return found;
}

bool cpa_slice_activity(const struct cpa_slices *slices, size_t lane, size_t event,
			struct cpa_slice *slice)
{
	const struct cpa_history_event *e = &slices->lanes->run->thread[lane].event[event];

	*slice = (struct cpa_slice){
		.from = cpa_slices_ns(slices, cpa_lanes_begin(slices->lanes, lane, event)),
		.to = cpa_slices_ns(slices, e->arrived),
		.name = name_of(slices, e),
	};
	return slice->to > slice->from;
}

bool cpa_slice_wait(const struct cpa_slices *slices, size_t lane, size_t event,
		    struct cpa_slice *slice)
{
	const struct cpa_history_event *e = &slices->lanes->run->thread[lane].event[event];
	const struct cpa_node_figures *node = cpa_profile_node(slices->profile, e->node);

	*slice = (struct cpa_slice){ .from = cpa_slices_ns(slices, e->arrived),
				     .to = cpa_slices_ns(slices, e->now) };
	if (node)
		slice->name = NAME_COMPONENTS + slices->profile->components +
			      (size_t)(node - slices->profile->node);
	return slice->to > slice->from;
}

static int compare_stretches(const void *a, const void *b)
{
	const struct cpa_stretch *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

struct cpa_stretch *cpa_slices_critical(const struct cpa_slices *slices, size_t *count)
{
	const struct cpa_run *run = slices->lanes->run;
	struct cpa_stretch *stretch = xcalloc(run->events + 1, sizeof(*stretch));
	uint64_t last = 0;

	*count = 0;
	for (size_t lane = 0; lane < run->threads; lane++) {
		for (size_t i = 0; i < run->thread[lane].events; i++) {
			struct cpa_slice slice;

			if ((slices->lanes->on[lane][i] & CPA_ON_CRITICAL) &&
			    cpa_slice_activity(slices, lane, i, &slice))
				stretch[(*count)++] =
					(struct cpa_stretch){ slice.from, slice.to, lane };
		}
	}
	qsort(stretch, *count, sizeof(*stretch), compare_stretches);
	for (size_t i = 0; i < *count; i++) {
		stretch[i].from = stretch[i].from > last ? stretch[i].from : last;
		last = stretch[i].to = stretch[i].to > last ? stretch[i].to : last;
	}
	return stretch;
}
