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
 * Place @threads with @names (NULL: no name) on @cores by @groups, NULL: all threads on all cores.
 * Return 0, and the caller calls cpa_placement_fini(); or -1 with *@error the message, which the
 * caller frees.
 */
int cpa_placement_init(struct cpa_placement *placement, uint32_t cores, uint32_t load,
		       const char *groups, const char *const *names, uint32_t threads,
		       char **error);

/*
 * Set the length of turns. In Linux the slice grows with the machine's cores: here the larger of
 * @cores (the recorded machine) and the placement's cores. @tick_s: seconds per tick. Before this
 * call a slice is one tick.
 */
void cpa_placement_turns(struct cpa_placement *placement, uint32_t cores, double tick_s);

void cpa_placement_fini(struct cpa_placement *placement);

#endif
