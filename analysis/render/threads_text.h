/* SPDX-License-Identifier: MIT */
/* analysis/render/threads_text.h - the table of threads, as text */
#ifndef CPA_ANALYSIS_RENDER_THREADS_TEXT_H
#define CPA_ANALYSIS_RENDER_THREADS_TEXT_H

#include "analysis/profile/profile.h"
#include "analysis/util/table.h"

/* Write the @top threads with most CPU time. */
void cpa_text_threads(const struct cpa_page *page, const struct cpa_profile *profile, size_t top);

#endif
