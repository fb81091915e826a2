/* SPDX-License-Identifier: MIT */
/*
 * analysis/exact/walk.h - walk the longest path to an event backwards
 *
 * cpa_exact_run() has noted which cause of each event was the longest. The walk reads the blocks on
 * the path again, each once, as it only goes back within a thread.
 */
#ifndef CPA_ANALYSIS_EXACT_WALK_H
#define CPA_ANALYSIS_EXACT_WALK_H

#include "analysis/exact/exact.h"

/* An activity on the path; it ended with event @number. */
struct cpa_step {
	size_t strand;
	uint32_t number;
	uint64_t weight; /* weight in the context, ticks */
	uint64_t full;	 /* duration in the run, ticks */
	uint64_t clock;	 /* clock at its end */
	/*
	 * The components that were active, by slot, and for how long; a slot may occur several
	 * times.
	 */
	size_t charges;
	const struct cpa_held_charge *charge;
};

/*
 * Call @step for each activity from event @number of @strand back to the beginning. Return the sum
 * of their weights; UINT64_MAX if a record is missing, as all are in a journal without threads.
 */
uint64_t cpa_walk(const struct cpa_exact *exact, size_t strand, uint32_t number,
		  void (*step)(void *argument, const struct cpa_step *step), void *argument);

#endif
