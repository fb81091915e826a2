/* SPDX-License-Identifier: MIT */
/*
 * analysis/exact/walk.h - back along the longest path to an event
 *
 * cpa_exact_run() has noted which cause of each event was the longest; the walk reads the blocks
 * that the path leads through again, each once: of one thread it goes back only.
 */
#ifndef CPA_ANALYSIS_EXACT_WALK_H
#define CPA_ANALYSIS_EXACT_WALK_H

#include "analysis/exact/exact.h"

/* An activity on the path, which led to event @number. */
struct cpa_step {
	size_t strand;
	uint32_t number;
	uint64_t weight; /* in the context */
	uint64_t full;	 /* what it took */
	uint64_t clock;	 /* at its end */
	/* All components that were active: slots, perhaps several times, and how long. */
	size_t charges;
	const struct cpa_held_charge *charge;
};

/*
 * Tell @step all activities from event @number of @strand back to the begin. Return their weight;
 * or UINT64_MAX if the records that are needed are not there.
 */
uint64_t cpa_walk(const struct cpa_exact *exact, size_t strand, uint32_t number,
		  void (*step)(void *argument, const struct cpa_step *step), void *argument);

#endif
