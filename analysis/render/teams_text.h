/* SPDX-License-Identifier: MIT */
/* analysis/render/teams_text.h - text for the parallel regions of OpenMP */
#ifndef CPA_ANALYSIS_RENDER_TEAMS_TEXT_H
#define CPA_ANALYSIS_RENDER_TEAMS_TEXT_H

#include "analysis/profile/profile.h"
#include "analysis/util/table.h"

/*
 * Nothing if the program has no teams. @threads: with the work and the wait of each thread, and if
 * there are no figures, why.
 */
void cpa_text_teams(const struct cpa_page *page, const struct cpa_profile *profile, size_t top,
		    bool threads);

#endif
