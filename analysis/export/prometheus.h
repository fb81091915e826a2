/* SPDX-License-Identifier: MIT */
/* analysis/export/prometheus.h - figures in the text format of Prometheus */
#ifndef CPA_ANALYSIS_EXPORT_PROMETHEUS_H
#define CPA_ANALYSIS_EXPORT_PROMETHEUS_H

#include <stdio.h>

#include "analysis/profile/profile.h"

/*
 * Write the program's sums, the @top components that save most, and all queues. Of components or
 * queues with the same name and place the first is written. Return 0; below 0 with errno set if the
 * output cannot be written.
 */
int cpa_prometheus_write(const struct cpa_profile *profile, size_t top, FILE *out);

#endif
