/* SPDX-License-Identifier: MIT */
/* analysis/export/folded.h - times as folded stacks, for flame graphs */
#ifndef CPA_ANALYSIS_EXPORT_FOLDED_H
#define CPA_ANALYSIS_EXPORT_FOLDED_H

#include <stdio.h>

#include "analysis/export/frames.h"

/*
 * Write "program;frame NANOSECONDS" for each frame with some of @weight, with the callers between
 * the two where stacks tell them. Return 0.
 */
int cpa_folded_write(const struct cpa_profile *profile, enum cpa_weight weight, FILE *out);

#endif
