/* SPDX-License-Identifier: MIT */
/*
 * analysis/profile/curves.h - what each thread had done by the time of each sample
 *
 * A sample tells what a thread's row held at its latest event, and when that was (struct
 * cpa_thread_point): exact there. Between two such points a thread's sums grow evenly: an activity
 * or wait that goes on over several samples is spread over them, where the program's series has it
 * at its end. What lies between two points and is in no sum (the row had no thread, profiling was
 * off) comes first, then the rest. So a value is wrong by what happened in one interval at most.
 */
#ifndef CPA_ANALYSIS_PROFILE_CURVES_H
#define CPA_ANALYSIS_PROFILE_CURVES_H

#include "analysis/profile/intervals.h"
#include "shadow/format/layout.h"

struct cpa_build;

/*
 * The sums of a thread at @clock, to @value, ticks and numbers; @points: [count], whatever they
 * are. Those that are not later than the one before are left out.
 */
void cpa_curve_at(const struct cpa_thread_point *points, size_t count, uint64_t clock,
		  double value[CPA_CURVES]);

/*
 * Fill intervals->thread from the table of points. Sample i is of clock @clock[i], at place
 * @place[i]; the last sample, which has no place, is of the end.
 */
void cpa_curves_build(struct cpa_intervals *intervals, const struct cpa_build *build,
		      const uint64_t *clock, const uint32_t *place);
void cpa_curves_free(struct cpa_intervals *intervals);

/* The sum of all threads' curves @curve at sample @i; at SIZE_MAX, the start of the run, 0. */
double cpa_curves_sum(const struct cpa_intervals *intervals, enum cpa_curve curve, size_t i);

/* The curve of one thread, as above. */
static inline double cpa_curve(const struct cpa_thread_intervals *thread, enum cpa_curve curve,
			       size_t i)
{
	return i == SIZE_MAX ? 0 : thread->value[curve][i];
}

/*
 * What the samples hold of a component, whose sums grow at the ends of activities only: its process
 * time at sample i of the intervals, to @total[i], as if it had kept the pace of all process time.
 * Return false if there is nothing of @slot. @total: [samples].
 */
bool cpa_curves_slot(const struct cpa_intervals *intervals, uint32_t slot, double *total);

#endif
