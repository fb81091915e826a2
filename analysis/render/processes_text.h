/* SPDX-License-Identifier: MIT */
/* analysis/render/processes_text.h - the table of processes */
#ifndef CPA_ANALYSIS_RENDER_PROCESSES_TEXT_H
#define CPA_ANALYSIS_RENDER_PROCESSES_TEXT_H

#include "analysis/profile/profile.h"
#include "analysis/util/table.h"

/* Write the table of processes, sorted by CPU time, @top of them at most. */
void cpa_text_processes(const struct cpa_page *page, const struct cpa_profile *profile, size_t top);

#endif
