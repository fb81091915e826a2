/* SPDX-License-Identifier: MIT */
/* analysis/render/phases_text.h - phases for people to read */
#ifndef CPA_ANALYSIS_RENDER_PHASES_TEXT_H
#define CPA_ANALYSIS_RENDER_PHASES_TEXT_H

#include "analysis/profile/phases.h"
#include "analysis/util/table.h"

/* One line that says which phases were found; nothing if there were none. */
void cpa_text_phase_line(const struct cpa_page *page, const struct cpa_phases *phases);

/* All phases with their metrics; then, of each, the first @top components of its critical path. */
void cpa_text_phases(const struct cpa_page *page, const struct cpa_profile *profile,
		     const struct cpa_phases *phases, size_t top);

#endif
