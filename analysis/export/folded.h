/* SPDX-License-Identifier: MIT */
/* analysis/export/folded.h - the critical path as folded stacks, for flame graphs */
#ifndef CPA_ANALYSIS_EXPORT_FOLDED_H
#define CPA_ANALYSIS_EXPORT_FOLDED_H

#include <stdio.h>

#include "analysis/profile/profile.h"

/*
 * Write "program;frame NANOSECONDS" for each frame on the critical path, with the callers between the
 * two if stacks were taken. Return 0.
 */
int cpa_folded_write(const struct cpa_profile *profile, FILE *out);

#endif
