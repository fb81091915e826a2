/* SPDX-License-Identifier: MIT */
/*
 * analysis/profile/intervals.h - when each component mattered: the session's series
 * (shadow/graph/series.h)
 *
 * Samples are cumulative values at equal distances, the last one is of the end; what an interval
 * had is the difference of two. Where no thread passed a boundary no sample was taken: as nothing
 * happened up to the next one that was, it is as that. An activity is part of the samples behind
 * the event that ends it, so a long one comes late and all at once. But a path that is L long at
 * time t was no shorter than L - (t - t') at an earlier t': neither a path nor a component's share
 * or saving grows faster than the clock. Samples are raised to that.
 *
 * H is that of the path that was the longest at each sample. Where another path became the longest
 * in between, the difference of two H is of no path: it may be negative, or more than the path
 * grew. An interval where it is so by more than a tenth of that is marked, and nothing is raised
 * across it. When the path that was the longest at the end had its share of each component follows
 * from the same bound: at t it had no less than its share at the next sample less the time between,
 * and no more.
 */
#ifndef CPA_ANALYSIS_PROFILE_INTERVALS_H
#define CPA_ANALYSIS_PROFILE_INTERVALS_H

#include "analysis/profile/profile.h"

struct cpa_build;

/* Values of one component slot, each [samples], seconds, cumulative since the start of the run. */
struct cpa_slot_intervals {
	double *path_s, *saved_s, *total_s;
	double *final_s; /* as path_s, but of the path that is the longest at the end of the run */
};

/* Sampled sums of each thread, in the order of struct cpa_thread_point. */
enum cpa_curve {
	CPA_CURVE_CPU, /* of activities; the times add up to thread time */
	CPA_CURVE_EXTERNAL,
	CPA_CURVE_RUNQUEUE,
	CPA_CURVE_WAIT,
	CPA_CURVE_PROBE,
	CPA_CURVE_EVENTS,
	CPA_CURVE_BYTES,
	CPA_CURVES
};

/* Values of one thread row, each [samples], cumulative; seconds and numbers. See curves.h. */
struct cpa_thread_intervals {
	uint32_t row;
	double *value[CPA_CURVES];
};

struct cpa_interval_sample {
	double at_s; /* since the start of the run */
	double critical_path_s, cpu_s, process_s, external_s, runqueue_s, wait_s, probe_s;
	double segment_s[CPA_TIME_KINDS]; /* time by kind, observed path to this event */
	uint64_t events;
	bool path_changed; /* another path became the longest since the previous sample */
	double part;	   /* see cpa_intervals_trace() */
};

struct cpa_intervals {
	double period_s; /* seconds between samples; the last one may come sooner */
	size_t samples;	 /* 0: the run was too short for samples */
	struct cpa_interval_sample *sample;
	uint32_t slots;			 /* 0: the dump has no series */
	struct cpa_slot_intervals *slot; /* [slots]; path_s is NULL for a slot without samples */
	size_t threads;
	struct cpa_thread_intervals *thread;
};

/*
 * Read the series of the session and append the state at the end, from @build. The caller frees it.
 */
struct cpa_intervals *cpa_intervals_build(const struct cpa_build *build);
void cpa_intervals_free(struct cpa_intervals *intervals);

/* The series of @slot, NULL if there is none. */
const struct cpa_slot_intervals *cpa_intervals_slot(const struct cpa_intervals *intervals,
						    uint32_t slot);

/*
 * Set final_s of all slots from path_s: the time that the path that is the longest at the end can
 * have had of each slot at each sample. Going backwards, a share grows no faster than the clock and
 * never shrinks; within that bound the samples decide. An activity longer than an interval is
 * spread evenly over its duration: a sample with a part keeps that part of the growth up to the
 * next sample.
 */
void cpa_intervals_trace(struct cpa_intervals *intervals);

/*
 * The share of slot @slot in the growth of the final critical path between samples @from (SIZE_MAX:
 * the start of the run) and @to.
 */
double cpa_intervals_share(const struct cpa_intervals *intervals, uint32_t slot, size_t from,
			   size_t to);

#endif
