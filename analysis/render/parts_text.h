/* SPDX-License-Identifier: MIT */
/*
 * analysis/render/parts_text.h - the profiled parts of the run, and how sure the figures of them
 * are
 */
#ifndef CPA_ANALYSIS_RENDER_PARTS_TEXT_H
#define CPA_ANALYSIS_RENDER_PARTS_TEXT_H

#include "analysis/profile/profile.h"
#include "analysis/util/format.h"
#include "analysis/util/table.h"

/* Nothing if the whole run was profiled. */
void cpa_text_parts(const struct cpa_page *page, const struct cpa_profile *profile);

/* "0.12"; "" if @margin is NAN. */
struct cpa_figure cpa_text_margin(double margin, struct cpa_figure (*format)(double));

/* "0.8%" of @whole; "" if @margin is NAN. */
struct cpa_figure cpa_text_margin_percent(double margin, double whole);

/* That the first two components of one kind cannot be told apart, if that is so. */
void cpa_text_rivals(const struct cpa_page *page, const struct cpa_profile *profile);

#endif
