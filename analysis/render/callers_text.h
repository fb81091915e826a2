/* SPDX-License-Identifier: MIT */
/* analysis/render/callers_text.h - who called whom, as text */
#ifndef CPA_ANALYSIS_RENDER_CALLERS_TEXT_H
#define CPA_ANALYSIS_RENDER_CALLERS_TEXT_H

#include "analysis/derived/context_parts.h"
#include "analysis/util/table.h"

/*
 * Write the callers of the functions that @pattern names, at most @top lines for each. Return false,
 * with nothing written, if it names none, or if no stacks were taken; *@error is the reason, which
 * the caller frees.
 */
bool cpa_text_callers(const struct cpa_page *page, const struct cpa_profile *profile,
		      const char *pattern, size_t top, char **error);

/*
 * Write the critical path from the threads' starts inwards, at most @top lines. Return false, with
 * nothing written, if no stacks were taken; *@error is the reason, which the caller frees.
 */
bool cpa_text_tree(const struct cpa_page *page, const struct cpa_profile *profile, size_t top,
		   char **error);

/*
 * Write the functions divided by @callers callers at most, or CPA_CALLERS_ALL: at most @top lines, none
 * without stacks.
 */
void cpa_text_contexts(const struct cpa_page *page, const struct cpa_profile *profile,
		       uint32_t callers, size_t top);

/*
 * Beside the table of components: who called the first functions of it. Without stacks, if one of
 * these is a function of a library: how to get them.
 */
void cpa_text_called_by(const struct cpa_page *page, const struct cpa_profile *profile);

#endif
