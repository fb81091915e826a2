/* SPDX-License-Identifier: MIT */
/*
 * analysis/exact/context.h - the critical path when something weighs nothing, beside that of the run
 *
 * Zeroing of any set of components at once, as a new context beside the old one (IPS-2); and the
 * second and third critical path, which IPS-2 names as missing: the longest paths when the
 * activities of the ones before weigh nothing, so the longest chains of work that remain without
 * them.
 */
#ifndef CPA_ANALYSIS_EXACT_CONTEXT_H
#define CPA_ANALYSIS_EXACT_CONTEXT_H

#include "analysis/profile/profile.h"
#include "analysis/util/table.h"

/*
 * Say on @page what the run of @dump would gain if the components of @names ("kind:name,kind:name")
 * weighed nothing, and what its path would then consist of, at most @top rows. @profile: of @dump.
 * Return 0; or -1 with *@error (to be freed): there is no journal, or no such component.
 */
int cpa_context_zero(struct cpa_dump *dump, const struct cpa_profile *profile, const char *names,
		     const struct cpa_page *page, size_t top, char **error);

/*
 * The same of the first three critical paths: their lengths, overlap with the first, and
 * components.
 */
int cpa_context_paths(struct cpa_dump *dump, const struct cpa_profile *profile,
		      const struct cpa_page *page, size_t top, char **error);

#endif
