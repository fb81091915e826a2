/* SPDX-License-Identifier: MIT */
/* analysis/render/csv.h - one table of a profile as comma-separated values (RFC 4180) */
#ifndef CPA_ANALYSIS_RENDER_CSV_H
#define CPA_ANALYSIS_RENDER_CSV_H

#include <stdio.h>

#include "analysis/metrics/metrics.h"
#include "analysis/metrics/phases.h"
#include "analysis/render/text.h"

/*
 * Write the table of @level with all rows; for CPA_LEVEL_ALL the components. Columns have the names
 * of the JSON report; unknown values are empty. Write errors show in ferror(@out).
 */
void cpa_csv_write(const struct cpa_profile *profile, enum cpa_level level, FILE *out);

/* As cpa_csv_write() at CPA_LEVEL_CONTEXT, with @callers callers at most. */
void cpa_csv_contexts(const struct cpa_profile *profile, uint32_t callers, FILE *out);

/*
 * As cpa_csv_write(), but write the metrics of @level (CPA_METRIC_LEVELS: of the threads), a
 * histogram, or phases.
 */
void cpa_csv_metrics(const struct cpa_metrics *metrics, enum cpa_metric_level level, FILE *out);
void cpa_csv_histogram(const struct cpa_histogram *histogram, FILE *out);
void cpa_csv_phases(const struct cpa_phases *phases, FILE *out);

#endif
