/* SPDX-License-Identifier: MIT */
#include "analysis/derived/teams.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/components.h"
#include "analysis/profile/modules.h"
#include "analysis/profile/pag.h"
#include "analysis/profile/profile.h"
#include "analysis/symbols/names.h"
#include "analysis/util/format.h"
#include "analysis/util/printable.h"

#define ALWAYS 0.90 /* of the most work of all rounds: then it is one thread's */

static double ratio(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

double cpa_efficiency_communication(const struct cpa_efficiency *efficiency)
{
	return efficiency->serialisation * efficiency->transfer;
}

double cpa_efficiency_parallel(const struct cpa_efficiency *efficiency)
{
	return efficiency->load_balance * cpa_efficiency_communication(efficiency);
}

struct cpa_efficiency cpa_efficiency_of(double mean, double most, double chain, double elapsed)
{
	return (struct cpa_efficiency){ .load_balance = ratio(mean, most),
					.serialisation = ratio(most, chain),
					.transfer = ratio(chain, elapsed) };
}

/* How many activities began at nodes of @kind of the region with @name. */
static uint64_t count_from(const struct cpa_profile *profile, enum cpa_event_kind kind,
			   const char *name)
{
	const char *word = cpa_names_event(kind);
	uint64_t count = 0;

	for (size_t i = 0; i < profile->edges; i++) {
		const struct cpa_edge_figures *edge = &profile->edge[i];
		const struct cpa_node_figures *from = cpa_profile_node(profile, edge->from);

		if (!edge->dependency && from && from->class && strcmp(from->kind, word) == 0 &&
		    strcmp(from->class, name) == 0)
			count += edge->count;
	}
	return count;
}

double cpa_teams_threads(const struct cpa_profile *profile,
			 const struct cpa_component_figures *component)
{
	if (component->kind != CPA_REGION || component->shared)
		return 0;
	return ratio((double)count_from(profile, CPA_EV_PART, component->name),
		     (double)count_from(profile, CPA_EV_TEAM, component->name));
}

bool cpa_teams_are_tasks(const struct cpa_profile *profile,
			 const struct cpa_component_figures *component)
{
	const char *made = cpa_names_event(CPA_EV_TASK);

	for (size_t i = 0; component->kind == CPA_QUEUE && i < profile->nodes; i++)
		if (profile->node[i].class && strcmp(profile->node[i].kind, made) == 0 &&
		    strcmp(profile->node[i].class, component->name) == 0)
			return true;
	return false;
}

bool cpa_teams_any(const struct cpa_profile *profile)
{
	const char *fork = cpa_names_event(CPA_EV_TEAM);

	for (size_t i = 0; i < profile->nodes; i++)
		if (strcmp(profile->node[i].kind, fork) == 0)
			return true;
	return false;
}

bool cpa_teams_are_pool(const struct cpa_profile *profile,
			const struct cpa_component_figures *class)
{
	static const char *const runtimes[] = { "libgomp", "libomp", "libiomp" };
	const char *path = class->module && class->module <= profile->modules ?
				   profile->module[class->module - 1].path :
				   NULL;

	for (size_t i = 0; path && i < ARRAY_SIZE(runtimes); i++)
		if (strncmp(cpa_printable_base(path), runtimes[i], strlen(runtimes[i])) == 0)
			return cpa_teams_any(profile);
	return false;
}

char *cpa_teams_uneven(const struct cpa_team_figures *team)
{
	double others_s = (team->work_s - team->thread[0].work_s) / (team->threads - 1);

	if (team->thread[0].work_s < ALWAYS * team->most_s)
		return cpa_format_text(
			"in %s another thread is the slowest each time, and the others wait: the "
			"slowest work %s, the average %s; balanced it takes that.",
			team->name, cpa_format_seconds(team->most_s).text,
			cpa_format_seconds(team->even_s).text);
	return cpa_format_text("in %s thread %u works %s, the others %s%s; balanced it takes %s.",
			       team->name, team->thread[0].tid,
			       cpa_format_seconds(team->thread[0].work_s).text,
			       cpa_format_seconds(others_s).text,
			       team->threads > 2 ? " on average" : "",
			       cpa_format_seconds(team->even_s).text);
}

void cpa_teams_free(struct cpa_teams *teams)
{
	if (!teams)
		return;
	for (size_t i = 0; i < teams->rows; i++) {
		free(teams->row[i].name);
		free(teams->row[i].location);
		free(teams->row[i].thread);
	}
	free(teams->row);
	free(teams->trouble);
	free(teams);
}
