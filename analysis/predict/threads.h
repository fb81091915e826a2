/* SPDX-License-Identifier: MIT */
/*
 * analysis/predict/threads.h - the critical path with other numbers of threads in the parallel
 * regions
 *
 * The path outside all regions stays as it is; each round of a region takes what cpa_round_ticks()
 * says. That is the run with a processor for each thread. What is left out, the answer says. The
 * model for the recorded numbers of threads stands beside the recorded path: no prediction is
 * better than their difference.
 */
#ifndef CPA_ANALYSIS_PREDICT_THREADS_H
#define CPA_ANALYSIS_PREDICT_THREADS_H

#include "analysis/profile/profile.h"
#include "analysis/util/table.h"

#define CPA_TEAM_MAX  4096
#define CPA_TEAMS_MAX 8 /* numbers of threads in one question */

/* Numbers of threads to predict for. */
struct cpa_team_sizes {
	size_t count;
	uint32_t size[CPA_TEAMS_MAX];
};

/* Parse "1,2,4". Return NULL, or the error in static storage. */
const char *cpa_team_sizes_parse(struct cpa_team_sizes *sizes, const char *text);

/*
 * Write the answer from @dump and its @profile on @page, at most @top regions, or as JSON. Return
 * 0; or -1 with *@error, which the caller frees: no journal, no regions, or regions of which the
 * model knows too little.
 */
int cpa_threads_answer(struct cpa_dump *dump, const struct cpa_profile *profile,
		       const struct cpa_team_sizes *sizes, const struct cpa_page *page, size_t top,
		       bool json, char **error);

#endif
