/* SPDX-License-Identifier: MIT */
/*
 * analysis/export/slices.h - the events of a journal as named stretches of time, for other tools
 *
 * A lane has stretches that do not overlap: activities and the waits behind them. Times are ns since the
 * start of the run.
 */
#ifndef CPA_ANALYSIS_EXPORT_SLICES_H
#define CPA_ANALYSIS_EXPORT_SLICES_H

#include "analysis/exact/lanes.h"
#include "analysis/profile/profile.h"

struct cpa_slices {
	const struct cpa_lanes *lanes;
	const struct cpa_profile *profile;
	size_t names;
	char **name; /* what a stretch can be called: work, functions, blocking calls, waits */
	uint32_t *component; /* by slot: index + 1 of the function or external; private */
	uint32_t slots;
	char **lane_name;			  /* "worker 4711" */
	const struct cpa_thread_figures **thread; /* by lane; NULL: its row has another thread now */
};

struct cpa_slice {
	uint64_t from, to;
	size_t name; /* index */
};

/* @lanes and @profile, both of @dump, must outlive @slices. */
void cpa_slices_init(struct cpa_slices *slices, const struct cpa_dump *dump,
		     const struct cpa_lanes *lanes, const struct cpa_profile *profile);
void cpa_slices_fini(struct cpa_slices *slices);

/* ns since the start of the run at clock @clock. */
uint64_t cpa_slices_ns(const struct cpa_slices *slices, uint64_t clock);

/* The activity that ended with event @event of @lane; the wait behind it. Return false if it has no length. */
bool cpa_slice_activity(const struct cpa_slices *slices, size_t lane, size_t event,
			struct cpa_slice *slice);
bool cpa_slice_wait(const struct cpa_slices *slices, size_t lane, size_t event,
		    struct cpa_slice *slice);

/* A stretch of a path, in lane @lane. */
struct cpa_stretch {
	uint64_t from, to;
	size_t lane;
};

/* The critical path by time, without overlaps; the caller frees it. */
struct cpa_stretch *cpa_slices_critical(const struct cpa_slices *slices, size_t *count);

#endif
