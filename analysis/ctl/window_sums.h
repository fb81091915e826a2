/* SPDX-License-Identifier: MIT */
/*
 * analysis/ctl/window_sums.h - the session's sums at the begins of its windows, for 95 % intervals
 *
 * While profiling is off the rows of the threads do not change. So whoever is about to begin a
 * window reads from outside what the windows before it had: the join of the threads' paths, with S
 * and H of each component, and the counters of locks, queues, streams and threads. All paths of a
 * window begin in one node (shadow/edge/part.h); L, S and H of windows add up, and differences of
 * these sums are those of the windows in between. They are kept in the session
 * (shadow/format/layout_windows.h) in constant space: as the sums are cumulative, folding is to
 * drop every second one. A run of N windows is read 64 + 32 * log2(N / 64) times.
 */
#ifndef CPA_ANALYSIS_CTL_WINDOW_SUMS_H
#define CPA_ANALYSIS_CTL_WINDOW_SUMS_H

#include "analysis/ctl/control.h"
#include "analysis/input/snapshot.h"

struct cpa_window_sums {
	/* Private; all 0 before the first window. */
	struct cpa_dump dump;
	struct cpa_window_series *series;
	struct cpa_reading *reading;
	bool failed; /* there are no sums */
};

/*
 * A window of @control's session is about to begin: profiling is off. The gap before it was drawn from those
 * with the mean @gap, ticks.
 */
void cpa_window_sums_take(struct cpa_window_sums *sums, struct cpa_control *control, uint64_t gap);
void cpa_window_sums_close(struct cpa_window_sums *sums);

/*
 * Begin another window in @series, behind a gap of mean @gap. Where a sample of the moment before it is due, @read fills it
 * in, at its second argument; if that returns false, the next window counts as part of this one.
 */
void cpa_window_sums_count(struct cpa_window_series *series, uint64_t gap,
			   bool (*read)(void *from, uint64_t *sample), void *from);

#endif
