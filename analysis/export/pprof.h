/* SPDX-License-Identifier: MIT */
/* analysis/export/pprof.h - a profile for `go tool pprof` (profile.proto, compressed with gzip) */
#ifndef CPA_ANALYSIS_EXPORT_PPROF_H
#define CPA_ANALYSIS_EXPORT_PPROF_H

#include <stdio.h>

#include "analysis/profile/profile.h"

/*
 * Write @profile to @out, with the sample types path, cpu, wall and wait. Return 0, or -1 with
 * errno set if it could not be written.
 */
int cpa_pprof_write(const struct cpa_profile *profile, FILE *out);

#endif
