/* SPDX-License-Identifier: MIT */
/*
 * analysis/exact/context.h - the critical path if some activities weigh nothing
 *
 * Zeroes any set of components at once and compares the result with the run, as a second context
 * (IPS-2). Also finds the second and third critical path, which IPS-2 names as missing: the longest
 * paths when the activities of all earlier paths weigh nothing.
 */
#ifndef CPA_ANALYSIS_EXACT_CONTEXT_H
#define CPA_ANALYSIS_EXACT_CONTEXT_H

#include "analysis/profile/profile.h"
#include "analysis/util/table.h"

/*
 * Write on @page the length and components of the critical path of @dump if the components @names
 * ("kind:name,kind:name") weighed nothing, at most @top rows, or as JSON. @profile: of @dump.
 * Return 0; or -1 with *@error, which the caller frees, if there is no journal or no such
 * component.
 */
int cpa_context_zero(struct cpa_dump *dump, const struct cpa_profile *profile, const char *names,
		     const struct cpa_page *page, size_t top, bool json, char **error);

/*
 * Write the first three critical paths of @dump: their lengths, overlap with the first, and
 * components. Parameters, result and errors as cpa_context_zero().
 */
int cpa_context_paths(struct cpa_dump *dump, const struct cpa_profile *profile,
		      const struct cpa_page *page, size_t top, bool json, char **error);

#endif
