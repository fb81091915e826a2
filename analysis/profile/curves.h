/* SPDX-License-Identifier: MIT */
/*
 * analysis/profile/curves.h - cumulative figures of each thread at the time of each sample
 *
 * A sample holds the sums of a thread's row at its latest event, and the clock of that event
 * (struct cpa_thread_point): exact there. Between two such points the sums grow evenly, so an
 * activity or wait longer than an interval is spread over it, while the program's series counts it
 * at its end. Clocks count only while profiling is on, as the sums do: an activity that goes on from
 * one window to the next is spread over both. A sample inside a wait may hold the whole wait: it
 * then counts as a sample at the end of the wait. Time between two points that no sum accounts for (the row
 * had no thread) is put first. A value is wrong by the events of one interval at most.
 */
#ifndef CPA_ANALYSIS_PROFILE_CURVES_H
#define CPA_ANALYSIS_PROFILE_CURVES_H

#include "analysis/profile/intervals.h"
#include "shadow/format/layout.h"

struct cpa_build;

/*
 * Store the sums of a thread at @clock in @value, ticks and numbers. @points: [count], their clocks
 * as @clock (cpa_build_on()), not checked before; points that are not later than the one before are
 * ignored.
 */
void cpa_curve_at(const struct cpa_thread_point *points, size_t count, uint64_t clock,
		  double value[CPA_CURVES]);

/*
 * Fill intervals->thread from the table of points. Sample i is at clock @clock[i], ticks for which
 * profiling was on (cpa_build_on()), in place @place[i]; the last sample is the end of the run and
 * has no place.
 */
void cpa_curves_build(struct cpa_intervals *intervals, const struct cpa_build *build,
		      const uint64_t *clock, const uint32_t *place);
void cpa_curves_free(struct cpa_intervals *intervals);

/* Sum of curve @curve of all threads at sample @i; 0 at SIZE_MAX, the start of the run. */
double cpa_curves_sum(const struct cpa_intervals *intervals, enum cpa_curve curve, size_t i);

/* As cpa_curves_sum(), but of one thread. */
static inline double cpa_curve(const struct cpa_thread_intervals *thread, enum cpa_curve curve,
			       size_t i)
{
	return i == SIZE_MAX ? 0 : thread->value[curve][i];
}

/*
 * Estimate the process time of component slot @slot at each sample: its sums grow only at the ends
 * of activities, so it is taken to grow at the pace of all process time. @total: [samples],
 * seconds. Return false if the samples have nothing of @slot.
 */
bool cpa_curves_slot(const struct cpa_intervals *intervals, uint32_t slot, double *total);

#endif
