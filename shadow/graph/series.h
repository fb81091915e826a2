/* SPDX-License-Identifier: MIT */
/*
 * shadow/graph/series.h - the program's result at boundaries of its run, in constant space
 *
 * A sample is the cut (shadow/graph/cut.h) at one boundary: cumulative values. At level k every
 * 2^k-th boundary has a sample. When the samples no longer fit, the level grows and every second
 * sample is dropped; cumulative values need no other folding. Samples never move: that of boundary
 * first_period + (j << k) is at place j rotated left by k bits, and a sample that survives a fold
 * keeps its place.
 *
 * The first thread behind a boundary takes the sample of the boundary before it: by then all events
 * before that one have reached their rows, unless a thread was stopped in the middle of one for a
 * whole period. The thread first marks the label (compare and exchange). If it is stopped or dies
 * while sampling, this sample and later ones at its place are lost, and no thread waits.
 */
#ifndef CPA_SHADOW_GRAPH_SERIES_H
#define CPA_SHADOW_GRAPH_SERIES_H

#include "shadow/graph/cut.h"

/* Begin the series of a session at clock @now. Called once, before any other thread. */
CPA_HIDDEN void cpa_series_init(uint64_t now);

/* Called by the thread that has just passed boundary @n. */
CPA_HIDDEN void cpa_series_pass(struct cpa_self *self, uint64_t n);

/*
 * Called with each sample and its predecessor (boundary 0 and all values 0 if there is none), from
 * cpa_series_pass(); there the thread may allocate, and may read but not change its own row. Both
 * cuts are freed afterwards. Samples come in order, except for one whose thread was stopped for a
 * period: it may come late, and while another thread is in the hook. NULL: no hook. Set before any
 * thread exists.
 */
extern CPA_HIDDEN void (*cpa_series_hook)(struct cpa_self *self, const struct cpa_cut *now,
					  const struct cpa_cut *before);

/*
 * Return the lowest level, from @level up, at which the samples of @periods periods fit into
 * CPA_SAMPLES.
 */
static inline uint32_t cpa_series_level(uint64_t periods, uint32_t level)
{
	while (periods >> level >= CPA_SAMPLES)
		level++;
	return level;
}

/* Return the place of the sample of boundary first_period + @periods, a multiple of 1 << @level. */
static inline uint32_t cpa_series_place(uint64_t periods, uint32_t level)
{
	const uint32_t bits = (uint32_t)__builtin_ctz(CPA_SAMPLES), by = level % bits;
	uint64_t j = periods >> level;

	return (uint32_t)(j << by | j >> (bits - by)) & (CPA_SAMPLES - 1);
}

static inline uint64_t cpa_sample_label(uint64_t boundary, enum cpa_sample_state state)
{
	return boundary << 2 | state;
}

#endif
