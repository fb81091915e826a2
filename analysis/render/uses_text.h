/* SPDX-License-Identifier: MIT */
/* analysis/render/uses_text.h - which code waits for a lock and holds it, as text */
#ifndef CPA_ANALYSIS_RENDER_USES_TEXT_H
#define CPA_ANALYSIS_RENDER_USES_TEXT_H

#include "analysis/derived/context_parts.h"
#include "analysis/util/table.h"

/*
 * Write the stacks of locks and other objects whose class is named by @pattern, at most @top of each kind.
 * Return how many classes there are with such stacks.
 */
size_t cpa_text_uses(const struct cpa_page *page, const struct cpa_profile *profile,
		     const char *pattern, size_t top);

#endif
