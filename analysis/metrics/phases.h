/* SPDX-License-Identifier: MIT */
/*
 * analysis/metrics/phases.h - phases of a run, each with the figures of a run of its own
 *
 * Phases are found (segment.h: IPS-2, V.B), lie between marks of the program, or are given by hand.
 * The figures of a phase are the difference of the two samples (shadow/graph/series.h) nearest to
 * its borders, so each border may be off by half an interval; a phase with the same sample at both
 * borders has no figures.
 *
 * The critical path of a phase is the growth of the longest path. The saving of a component is the
 * growth of its slack: how much more the path grew than it would have grown without the component.
 * It is negative where another path makes up for earlier savings.
 */
#ifndef CPA_ANALYSIS_METRICS_PHASES_H
#define CPA_ANALYSIS_METRICS_PHASES_H

#include "analysis/metrics/metrics.h"

enum cpa_phase_by { CPA_PHASE_FOUND, CPA_PHASE_MARKED, CPA_PHASE_GIVEN };

const char *cpa_phase_by_name(enum cpa_phase_by by);

/* A component in a phase. */
struct cpa_phase_share {
	size_t component; /* row in the profile */
	double path_s, saved_s;
	double total_s; /* process time of all threads; for an external, time blocked */
};

struct cpa_phase {
	enum cpa_phase_by by;
	char *name;
	double from_s, to_s;
	size_t first, last; /* samples at the borders; first SIZE_MAX: the start of the run */
	double sampled_from_s, sampled_to_s;
	bool sampled;	   /* the two samples differ: all values below are known */
	bool path_changed; /* path changed: its shares are not known */
	double path_s;
	double value[CPA_METRICS]; /* metrics at the level of the program */
	size_t shares;
	struct cpa_phase_share *share; /* by saving, then path time, largest first */
};

/* A range given by the user; seconds since the start of the run. */
struct cpa_phase_range {
	const char *name;
	double from_s, to_s;
};

struct cpa_phase_settings {
	double step; /* threshold, see segment.h; 0: find one */
	size_t ranges;
	const struct cpa_phase_range *range;
};

struct cpa_phases {
	double step;	 /* the threshold used; 0: too few samples to look for phases */
	bool step_given; /* given by the user */
	size_t window;	 /* width of the smoothing window, intervals */
	double interval_s;
	size_t curves, left_out; /* metrics searched; of these, only noise */
	size_t found;		 /* phases found from samples; 0, or at least 2 */
	size_t count;
	struct cpa_phase *phase; /* found, by marks, given; each by time */
};

struct cpa_phases *cpa_phases_build(const struct cpa_profile *profile,
				    const struct cpa_phase_settings *settings);
void cpa_phases_free(struct cpa_phases *phases);

/*
 * Parse "NAME=FROM..TO"; FROM and TO are seconds with or without "s", or "ms". A missing one means
 * the start or the end. Return false if @text is not a range. The name points into @text, which is
 * changed.
 */
bool cpa_phase_parse(char *text, struct cpa_phase_range *range);

#endif
