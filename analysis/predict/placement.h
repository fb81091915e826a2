/* SPDX-License-Identifier: MIT */
/*
 * analysis/predict/placement.h - which threads share which cores, as said on the command line
 *
 *	CORES:NAME[,NAME...] ...	CORES: 3, or 0-3; NAME of threads, with * and ?
 *
 * separated by blanks. A thread belongs to the first group that names it; the others share the
 * cores that no group has. Within a group the sharing is fair: engine.h.
 */
#ifndef CPA_ANALYSIS_PREDICT_PLACEMENT_H
#define CPA_ANALYSIS_PREDICT_PLACEMENT_H

#include "analysis/predict/engine.h"

#define CPA_CORES_MAX 4096

/*
 * Place @threads of these @names (NULL: none) on @cores by @groups, NULL: all on all. Return 0, and
 * the caller calls cpa_placement_fini(); or -1 with *@error what is wrong, for the caller to free.
 */
int cpa_placement_init(struct cpa_placement *placement, uint32_t cores, uint32_t load,
		       const char *groups, const char *const *names, uint32_t threads,
		       char **error);

/*
 * Set how long turns are: as in Linux, whose slice grows with the cores of the machine, here the
 * more of @cores, of the recorded one, and the placement's; clock ticks last @tick_s each. Until
 * then a tick.
 */
void cpa_placement_turns(struct cpa_placement *placement, uint32_t cores, double tick_s);

void cpa_placement_fini(struct cpa_placement *placement);

#endif
