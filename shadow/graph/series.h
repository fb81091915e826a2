/* SPDX-License-Identifier: MIT */
/*
 * shadow/graph/series.h - the program's result at boundaries of its run, in constant space
 *
 * A sample is the cut (shadow/graph/cut.h) at one boundary: cumulative values. At level k every 2^k-th
 * boundary has a sample. When they no longer fit, the level grows: every second sample is dropped,
 * which is all that folding a series of cumulative values takes. Nothing moves: the sample of
 * boundary first_period + (j << k) is at place j rotated left by k bits, and what survives a fold
 * keeps its place.
 *
 * The first thread behind a boundary takes the sample of the boundary before: by then all events
 * before that one have come to their rows, but for a thread that was stopped halfway for a period.
 * It marks the label first (compare and exchange); if it is stopped or dies at it, that costs this
 * sample and those that later want its place, and nobody waits.
 */
#ifndef CPA_SHADOW_GRAPH_SERIES_H
#define CPA_SHADOW_GRAPH_SERIES_H

#include "shadow/graph/cut.h"

/* Begin the series of a session whose clock is at @now. Once, before any thread. */
CPA_HIDDEN void cpa_series_init(uint64_t now);

/* The thread has just passed boundary @n. */
CPA_HIDDEN void cpa_series_pass(struct cpa_self *self, uint64_t n);

/*
 * Called with each sample and the one before it (boundary 0 and all values 0: there is none),
 * inside cpa_series_pass(), where the thread may allocate and its own row may be used but not
 * changed. Both are gone afterwards. Samples come in order, but for one whose thread was stopped
 * for a period: that may come late, and while another thread is in here. NULL: nobody. Set before
 * any thread is there.
 */
extern CPA_HIDDEN void (*cpa_series_hook)(struct cpa_self *self, const struct cpa_cut *now,
					  const struct cpa_cut *before);

/* The most samples there can be are CPA_SAMPLES: the level at which @periods of them fit. */
static inline uint32_t cpa_series_level(uint64_t periods, uint32_t level)
{
	while (periods >> level >= CPA_SAMPLES)
		level++;
	return level;
}

/* Where the sample of boundary first_period + @periods, a multiple of 1 << @level, is. */
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
