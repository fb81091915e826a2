/* SPDX-License-Identifier: MIT */
/* analysis/profile/pag.c - nodes and edges of the activity graph */
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/build.h"
#include "analysis/profile/components.h"
#include "analysis/profile/pag.h"
#include "analysis/symbols/chain.h"
#include "analysis/util/format.h"
#include "shadow/graph/component.h"
#include "shadow/graph/mix.h"

static char *copy(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

/* Read the nodes. Return which of them exist, by row - 1; the caller frees it. */
static bool *build_nodes(struct cpa_build *build)
{
	struct cpa_profile *profile = build->profile;
	struct cpa_dump *dump = build->dump;
	uint32_t rows = dump->rows[CPA_TABLE_NODES];
	bool *exists = xcalloc(rows + 1, sizeof(*exists));

	profile->node = xcalloc(rows + 1, sizeof(*profile->node));
	for (uint32_t i = 1; i <= rows; i++) {
		struct cpa_node row;
		const struct cpa_place *class, *site = &(const struct cpa_place){ 0 };

		if (!cpa_dump_row(dump, CPA_TABLE_NODES, i, &row, sizeof(row)))
			continue;
		if (row.kind == 0 || row.kind >= CPA_EV_KINDS) {
			cpa_dump_skip(dump, CPA_TABLE_NODES);
			continue;
		}
		class = cpa_names_component(build->names, row.class);
		if (build->graph == CPA_GRAPH_ALL)
			site = cpa_names_site(build->names, row.site, row.kind != CPA_EV_START);
		exists[i - 1] = true;
		profile->node[profile->nodes++] = (struct cpa_node_figures){
			.id = i,
			.kind = cpa_names_event(row.kind),
			.site = copy(site->name),
			.location = copy(site->location),
			.class = copy(class->name),
		};
	}
	return exists;
}

/* Add the edge rows to the sums of the threads' caches. A broken or unused row gets key 0. */
static void read_edges(struct cpa_build *build, const bool *exists)
{
	struct cpa_dump *dump = build->dump;
	uint32_t nodes = dump->rows[CPA_TABLE_NODES];

	for (uint32_t i = 0; i < build->edges; i++) {
		struct cpa_edge row, *sum = &build->edge[i];

		if (!cpa_dump_row(dump, CPA_TABLE_EDGES, i + 1, &row, sizeof(row)))
			continue;
		if (row.from == 0 || row.from > nodes || !exists[row.from - 1] || row.to == 0 ||
		    row.to > nodes || !exists[row.to - 1] || row.dependency > 1 ||
		    row.slot >= dump->header.slots) {
			cpa_dump_skip(dump, CPA_TABLE_EDGES);
			continue;
		}
		row.count += sum->count;
		row.weight += sum->weight;
		row.followed += sum->followed;
		row.followed_weight += sum->followed_weight;
		*sum = row;
	}
}

/* The number of edges and components that use each slot. The caller frees it. */
static uint32_t *count_users(struct cpa_build *build)
{
	uint32_t *users = xcalloc(build->dump->header.slots, sizeof(*users));

	for (uint32_t i = 1; i <= build->names->components; i++) {
		const struct cpa_component *row = cpa_names_row(build->names, i);

		/*
		 * An activity has a row of its own in the components table, which is not another
		 * user.
		 */
		if (row && (row->kind != CPA_ACTIVITY || row->shared))
			users[row->slot]++;
	}
	for (uint32_t i = 0; i < build->edges; i++)
		if (build->edge[i].key)
			users[build->edge[i].slot]++;
	return users;
}

/* The names of functions by slot, NULL for other slots. The caller frees the array. */
static const char **name_slots(const struct cpa_build *build)
{
	const struct cpa_profile *profile = build->profile;
	const char **names = xcalloc(build->dump->header.slots, sizeof(*names));

	for (size_t i = 0; i < profile->components; i++)
		if (profile->component[i].kind == CPA_FUNCTION)
			names[profile->component[i].slot] = profile->component[i].name;
	return names;
}

/*
 * The name of the function with @id (shadow/graph/component.h), which the caller frees; NULL:
 * unknown.
 */
static char *name_function(struct cpa_build *build, const char *const *names, uint32_t id)
{
	uint32_t row = id >> CPA_SLOT_BITS, slot = id & CPA_SLOT_MASK;

	if (row && cpa_names_row(build->names, row))
		return cpa_chain_component(build->names, row);
	return !row && slot < build->dump->header.slots && names[slot] ? xstrdup(names[slot]) :
									 NULL;
}

/* Older samples weigh less, so the samples of an edge give shares, not times. */
static void add_functions(struct cpa_build *build, const char *const *names,
			  const struct cpa_edge *edge, struct cpa_edge_figures *figures)
{
	double sum = 0;

	for (unsigned k = 0; k < CPA_MIX; k++)
		sum += cpa_mix_samples(edge->mix[k]);
	for (unsigned k = 0; k < CPA_MIX; k++) {
		int32_t samples = cpa_mix_samples(edge->mix[k]);
		char *name = name_function(build, names, cpa_mix_function(edge->mix[k]));

		if (samples && name)
			figures->function[figures->functions++] = (struct cpa_mix_figures){
				.function = name,
				.share = samples / sum,
			};
		else
			free(name);
	}
}

/*
 * The time of an activity on one of the paths: the activity's whole weight times the fraction of
 * its noted weight that is on the path (shadow/graph/summary.h). @values: the path's time by slot.
 */
static double of_activity(const struct cpa_build *build, const struct cpa_edge *edge,
			  const uint64_t values[])
{
	uint64_t ticks = edge->slot >= CPA_SLOT_FIRST ? values[edge->slot] : 0;
	double weight_s = cpa_build_seconds(build, edge->weight);

	/* In a running program the two figures are from different moments: use the noted time. */
	if (build->dump->header.state == CPA_RUNNING)
		return fmin(cpa_build_seconds(build, ticks), weight_s);
	return ticks < edge->noted ? weight_s * ((double)ticks / (double)edge->noted) :
	       edge->noted	   ? weight_s :
				     0;
}

/*
 * The time of an edge on the critical path: an activity's share, or the waits through which the
 * path came.
 */
static double on_path(const struct cpa_build *build, const struct cpa_edge *edge)
{
	if (edge->dependency)
		return cpa_build_seconds(build, edge->followed_weight);
	return of_activity(build, edge, build->program.share);
}

/* Whether an activity's time on a path is known; of one without noted time it is not. */
static bool has_own_slot(const struct cpa_build *build, const struct cpa_edge *edge,
			 const uint32_t users[])
{
	if (edge->dependency)
		return false;
	if (!edge->slot)
		return edge->weight <= build->dump->header.note_most;
	return edge->slot >= CPA_SLOT_FIRST && users[edge->slot] == 1;
}

static void build_edges(struct cpa_build *build)
{
	struct cpa_profile *profile = build->profile;
	uint32_t *users = count_users(build);
	const char **names = name_slots(build);

	profile->edge = xcalloc(build->edges + 1, sizeof(*profile->edge));
	for (uint32_t i = 0; i < build->edges; i++) {
		const struct cpa_edge *edge = &build->edge[i];
		struct cpa_edge_figures *figures = &profile->edge[profile->edges];

		if (edge->key == 0)
			continue;
		profile->edges++;
		*figures = (struct cpa_edge_figures){
			.from = edge->from,
			.to = edge->to,
			.dependency = edge->dependency,
			.own_slot = has_own_slot(build, edge, users),
			.count = edge->count,
			.followed = edge->followed,
			.weight_s = cpa_build_seconds(build, edge->weight),
			.on_path_s = on_path(build, edge),
			.observed_s = of_activity(build, edge, build->program.observed),
		};
		add_functions(build, names, edge, figures);
	}
	free(users);
	free(names);
}

void cpa_build_pag(struct cpa_build *build)
{
	bool *exists = build_nodes(build);

	read_edges(build, exists);
	build_edges(build);
	free(exists);
}
