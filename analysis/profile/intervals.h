/* SPDX-License-Identifier: MIT */
/*
 * analysis/profile/intervals.h - when each component mattered: the session's series (shadow/graph/series.h)
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

/* Of one component slot, each [samples]; seconds since the start of the run. */
struct cpa_slot_intervals {
	double *path_s, *saved_s, *total_s;
	double *final_s; /* like path_s, of the path that is the longest at the end */
};

/* What is sampled of each thread, in the order of struct cpa_thread_point. */
enum cpa_curve {
	CPA_CURVE_CPU, /* of activities; the times together are the thread's time */
	CPA_CURVE_EXTERNAL,
	CPA_CURVE_RUNQUEUE,
	CPA_CURVE_WAIT,
	CPA_CURVE_PROBE,
	CPA_CURVE_EVENTS,
	CPA_CURVE_BYTES,
	CPA_CURVES
};

/* Of one thread row, each [samples], cumulative; seconds, and numbers. See curves.h. */
struct cpa_thread_intervals {
	uint32_t row;
	double *value[CPA_CURVES];
};

struct cpa_interval_sample {
	double at_s; /* since the start of the run */
	double critical_path_s, cpu_s, process_s, external_s, runqueue_s, wait_s, probe_s;
	double segment_s[CPA_TIME_KINDS]; /* of the observed path to the latest event */
	uint64_t events;
	bool path_changed; /* since the sample before */
	double part;	   /* see cpa_intervals_trace() */
};

struct cpa_intervals {
	double period_s; /* from one sample to the next; the last one may be sooner */
	size_t samples;	 /* 0: the run was too short */
	struct cpa_interval_sample *sample;
	uint32_t slots;			 /* 0: there is no series */
	struct cpa_slot_intervals *slot; /* [slots]; path_s NULL: none */
	size_t threads;
	struct cpa_thread_intervals *thread;
};

/* Read the series of the session, and end it with what @build has found. */
struct cpa_intervals *cpa_intervals_build(const struct cpa_build *build);
void cpa_intervals_free(struct cpa_intervals *intervals);

/* The series of @slot, NULL if there is none. */
const struct cpa_slot_intervals *cpa_intervals_slot(const struct cpa_intervals *intervals,
						    uint32_t slot);

/*
 * From all path_s of @intervals set all final_s: what the path that is the longest at the end can
 * have had of each slot at each sample. Backwards, no share grows faster than the clock, nor
 * shrinks; within that the samples tell, of whatever path they are. An activity that is longer than
 * an interval is spread evenly over those it lasted, as nothing tells in which order it did what it
 * did: where a sample has a part, final_s must be what was sampled, and gets that part of what came
 * by the next.
 */
void cpa_intervals_trace(struct cpa_intervals *intervals);

/*
 * The share of the critical path's growth between samples @from (SIZE_MAX: the start) and @to that
 * @slot had on the path that is the longest at the end.
 */
double cpa_intervals_share(const struct cpa_intervals *intervals, uint32_t slot, size_t from,
			   size_t to);

#endif
