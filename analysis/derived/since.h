/* SPDX-License-Identifier: MIT */
/*
 * analysis/derived/since.h - figures of the time between two copies of one session
 *
 * The sums of a session only grow. What it had in between is the difference: exactly for sums of
 * threads and objects, and for paths where profiling was off at the first copy, as all paths go
 * through one node there (shadow/edge/part.h). Elsewhere the path that is the longest later may
 * have been another before, and what that had of a component is taken off.
 */
#ifndef CPA_ANALYSIS_DERIVED_SINCE_H
#define CPA_ANALYSIS_DERIVED_SINCE_H

#include "analysis/profile/profile.h"

/*
 * Subtract the sums of @before, an earlier copy of the same session, from those of @profile.
 * Margins, values over time, callers and the activity graph have no sums to subtract, and are
 * removed from @profile. Return false, and leave @profile as it is, if the two are not of one
 * session.
 */
bool cpa_profile_since(struct cpa_profile *profile, const struct cpa_profile *before);

#endif
