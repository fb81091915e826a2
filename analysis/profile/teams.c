/* SPDX-License-Identifier: MIT */
#include "analysis/profile/teams.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/profile/profile.h"
#include "analysis/symbols/names.h"

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

bool cpa_teams_any(const struct cpa_profile *profile)
{
	const char *fork = cpa_names_event(CPA_EV_TEAM);

	for (size_t i = 0; i < profile->nodes; i++)
		if (strcmp(profile->node[i].kind, fork) == 0)
			return true;
	return false;
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
