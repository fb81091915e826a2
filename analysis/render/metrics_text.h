/* SPDX-License-Identifier: MIT */
/* analysis/render/metrics_text.h - metrics by level and over time, as text */
#ifndef CPA_ANALYSIS_RENDER_METRICS_TEXT_H
#define CPA_ANALYSIS_RENDER_METRICS_TEXT_H

#include "analysis/util/format.h"
#include "analysis/metrics/metrics.h"
#include "analysis/util/table.h"

/* "8.41 s", "3", "1.20", "98304"; "-" if not known. */
struct cpa_figure cpa_format_metric(enum cpa_metric metric, double value);

/*
 * Write the tables of @level, or of all levels if it is CPA_METRIC_LEVELS; at most @top rows each.
 */
void cpa_text_metrics(const struct cpa_page *page, const struct cpa_metrics *metrics,
		      enum cpa_metric_level level, size_t top);

void cpa_text_histogram(const struct cpa_page *page, const struct cpa_histogram *histogram,
			size_t top);

#endif
