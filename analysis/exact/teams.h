/* SPDX-License-Identifier: MIT */
/*
 * analysis/exact/teams.h - parallel regions of OpenMP, from a journal: analysis/derived/teams.h
 *
 * What balance saves is exact on what was recorded: the longest path is computed again with the
 * mean work of its round for each stint (cpa_stint_balanced()).
 */
#ifndef CPA_ANALYSIS_EXACT_TEAMS_H
#define CPA_ANALYSIS_EXACT_TEAMS_H

#include "analysis/input/load.h"
#include "analysis/profile/profile.h"
#include "analysis/derived/teams.h"

/*
 * The figures of @dump and its @profile; NULL: it has no teams of OpenMP, or no journal. The caller
 * calls cpa_teams_free().
 */
struct cpa_teams *cpa_teams_read(struct cpa_dump *dump, const struct cpa_profile *profile);

#endif
