/* SPDX-License-Identifier: MIT */
/* analysis/render/callers_text.h - who called whom, as text: --callers and --tree */
#ifndef CPA_ANALYSIS_RENDER_CALLERS_TEXT_H
#define CPA_ANALYSIS_RENDER_CALLERS_TEXT_H

#include "analysis/profile/profile.h"
#include "analysis/util/table.h"

/*
 * Write the callers of the functions that @pattern names, at most @top lines for each. Return false,
 * with nothing written, if it names none, or if no stacks were taken; *@error is the reason, which
 * the caller frees.
 */
bool cpa_text_callers(const struct cpa_page *page, const struct cpa_profile *profile,
		      const char *pattern, size_t top, char **error);

/* Write the critical path from the threads' starts inwards, at most @top lines. Else as above. */
bool cpa_text_tree(const struct cpa_page *page, const struct cpa_profile *profile, size_t top,
		   char **error);

#endif
