/* SPDX-License-Identifier: MIT */
/* analysis/render/phases_text.h - phases, as text */
#ifndef CPA_ANALYSIS_RENDER_PHASES_TEXT_H
#define CPA_ANALYSIS_RENDER_PHASES_TEXT_H

#include "analysis/metrics/phases.h"
#include "analysis/util/table.h"

/* Write one line with the phases that were found; nothing if there are none. */
void cpa_text_phase_line(const struct cpa_page *page, const struct cpa_phases *phases);

/*
 * Write all phases with their metrics, then the first @top components of each one's critical path.
 */
void cpa_text_phases(const struct cpa_page *page, const struct cpa_profile *profile,
		     const struct cpa_phases *phases, size_t top);

#endif
