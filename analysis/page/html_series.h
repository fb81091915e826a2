/* SPDX-License-Identifier: MIT */
/* analysis/page/html_series.h - the metrics of IPS over time, as JSON for the page */
#ifndef CPA_ANALYSIS_PAGE_HTML_SERIES_H
#define CPA_ANALYSIS_PAGE_HTML_SERIES_H

#include <jansson.h>

#include "analysis/metrics/metrics.h"

/* Symbol, key, meaning and unit of each metric. The caller frees it. */
json_t *cpa_html_metrics(void);

/*
 * Each metric that is sampled over time: of the program, and of the threads and procedures with
 * most CPU time. Needs @profile->metrics. The caller frees it.
 */
json_t *cpa_html_series(const struct cpa_profile *profile);

#endif
