/* SPDX-License-Identifier: MIT */
/* analysis/page/html_replays.h - predicted run times, for the sliders of the page */
#ifndef CPA_ANALYSIS_PAGE_HTML_REPLAYS_H
#define CPA_ANALYSIS_PAGE_HTML_REPLAYS_H

#include <jansson.h>

#include "analysis/profile/profile.h"

/*
 * Replay the journal of @dump on each number of cores in @core, [@cores]; none: on half, all, twice
 * and four times the cores of the run. An answer as of --curves for each. The caller frees it.
 */
json_t *cpa_html_replays(struct cpa_dump *dump, const struct cpa_profile *profile,
			 const uint32_t *core, size_t cores);

#endif
