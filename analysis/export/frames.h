/* SPDX-License-Identifier: MIT */
/*
 * analysis/export/frames.h - times of a profile that add up, for the formats of other tools
 *
 * Such tools add the values of frames. So each time of the run belongs to exactly one frame: a
 * function, a call that blocked, a lock that was waited for, or one of the remainders in
 * parentheses. Savings do not add up and are left out.
 */
#ifndef CPA_ANALYSIS_EXPORT_FRAMES_H
#define CPA_ANALYSIS_EXPORT_FRAMES_H

#include "analysis/profile/profile.h"

enum cpa_weight {
	CPA_WEIGHT_PATH, /* critical path */
	CPA_WEIGHT_CPU,	 /* CPU time of activities */
	CPA_WEIGHT_WALL, /* observed path, whose length is the wall time */
	CPA_WEIGHT_WAIT, /* time of threads in waits */
	CPA_WEIGHTS
};

struct cpa_frame {
	const char *kind; /* "function", "external", "lock", "other" */
	char *name;	  /* with its kind before it, unless a function */
	const struct cpa_component_figures *component; /* of a function or external; or NULL */
	const char *location;			       /* or NULL */
	uint64_t weight_ns[CPA_WEIGHTS];
};

struct cpa_frames {
	size_t count;
	struct cpa_frame *frame;
};

/* "path", "cpu", "wall", "wait" */
const char *cpa_weight_name(enum cpa_weight weight);
/* The weight of this name; CPA_WEIGHTS: none. */
enum cpa_weight cpa_weight_of(const char *name);

/* @frames borrows from @profile. */
void cpa_frames_init(struct cpa_frames *frames, const struct cpa_profile *profile);
void cpa_frames_fini(struct cpa_frames *frames);

#endif
