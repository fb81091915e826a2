/* SPDX-License-Identifier: MIT */
/* analysis/render/annotate_text.h - the source of functions, with the time of each line */
#ifndef CPA_ANALYSIS_RENDER_ANNOTATE_TEXT_H
#define CPA_ANALYSIS_RENDER_ANNOTATE_TEXT_H

#include "analysis/profile/profile.h"
#include "analysis/util/table.h"

/*
 * Write the source of the functions that @pattern names. Where a file cannot be read, its lines
 * have numbers alone. Return false, with nothing written, if @pattern names none, or if no stacks
 * were taken; *@error is the reason, which the caller frees.
 */
bool cpa_text_annotate(const struct cpa_page *page, const struct cpa_profile *profile,
		       const char *pattern, char **error);

#endif
