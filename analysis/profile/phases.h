/* SPDX-License-Identifier: MIT */
/*
 * analysis/profile/phases.h - the phases of a run, and what each would say as a run of its own
 *
 * Found (segment.h: IPS-2, V.B), between marks of the program, or given by hand. A phase's figures
 * are the difference of two samples (shadow/graph/series.h): those nearest to its ends. So they are of a
 * stretch that may be half an interval longer or shorter at either end; a phase that no two samples
 * tell apart has none. The critical path in a phase is what the longest path grew by; what a
 * component saves there is what its slack grew by, that is, how much more the path grew than it
 * would have without the component. It is negative where another path makes up for what was gained
 * before.
 */
#ifndef CPA_ANALYSIS_PROFILE_PHASES_H
#define CPA_ANALYSIS_PROFILE_PHASES_H

#include "analysis/profile/metrics.h"

enum cpa_phase_by { CPA_PHASE_FOUND, CPA_PHASE_MARKED, CPA_PHASE_GIVEN };

const char *cpa_phase_by_name(enum cpa_phase_by by);

/* A component in a phase. */
struct cpa_phase_share {
	size_t component; /* of the profile */
	double path_s, saved_s;
	double total_s; /* process time of all threads; of an external, time blocked */
};

struct cpa_phase {
	enum cpa_phase_by by;
	char *name;
	double from_s, to_s;
	size_t first, last; /* samples at its ends; first SIZE_MAX: the start of the run */
	double sampled_from_s, sampled_to_s;
	bool sampled;	   /* there are two: all below is known */
	bool path_changed; /* another path became the longest in it: no shares of the path */
	double path_s;
	double value[CPA_METRICS]; /* of the program */
	size_t shares;
	struct cpa_phase_share *share; /* most saved first, then most on the path */
};

/* A range that the user wants to be a phase; seconds since the start. */
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
	bool step_given; /* by the user */
	size_t window;	 /* of the smoothing, intervals */
	double interval_s;
	size_t curves, left_out; /* metrics looked at, and of them those that are mere noise */
	size_t found;		 /* phases by samples; 0 or at least 2 */
	size_t count;
	struct cpa_phase *phase; /* found ones, then by marks, then given; each by time */
};

struct cpa_phases *cpa_phases_build(const struct cpa_profile *profile,
				    const struct cpa_phase_settings *settings);
void cpa_phases_free(struct cpa_phases *phases);

/*
 * Read "NAME=FROM..TO", seconds with or without "s", or "ms"; FROM and TO may be missing: the start
 * and the end. Return false if it is none. The name is cut out of @text and lives as long.
 */
bool cpa_phase_parse(char *text, struct cpa_phase_range *range);

#endif
