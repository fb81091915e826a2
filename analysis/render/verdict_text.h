/* SPDX-License-Identifier: MIT */
/*
 * analysis/render/verdict_text.h - the verdict, and reasons to doubt the figures, as text and JSON
 */
#ifndef CPA_ANALYSIS_RENDER_VERDICT_TEXT_H
#define CPA_ANALYSIS_RENDER_VERDICT_TEXT_H

#include <jansson.h>

#include "analysis/verdict/guidance.h"
#include "analysis/verdict/verdict.h"
#include "analysis/util/table.h"

/* Write the first lines of a report: what limits the program, what to do, how to look closer. */
void cpa_text_verdict(const struct cpa_page *page, const struct cpa_profile *profile,
		      const struct cpa_verdict *verdict);

/* Write warnings and notes, which say how far the figures are to be trusted. */
void cpa_text_doubts(const struct cpa_page *page, const struct cpa_profile *profile,
		     const struct cpa_guidance *guidance);

json_t *cpa_json_verdict(const struct cpa_profile *profile, const struct cpa_verdict *verdict);

#endif
