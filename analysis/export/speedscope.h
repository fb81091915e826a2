/* SPDX-License-Identifier: MIT */
/*
 * analysis/export/speedscope.h - a profile for speedscope (its file format is JSON)
 *
 * With a journal: the observed path, the critical path and each thread over time. Without, or if
 * stacks were taken: times by function, call and lock, below their callers.
 */
#ifndef CPA_ANALYSIS_EXPORT_SPEEDSCOPE_H
#define CPA_ANALYSIS_EXPORT_SPEEDSCOPE_H

#include <stdio.h>

#include "analysis/profile/profile.h"

/*
 * Write @profile, of @dump. Return 0; or 1 with *@error, which the caller frees, if the journal is
 * damaged.
 */
int cpa_speedscope_write(struct cpa_dump *dump, const struct cpa_profile *profile, FILE *out,
			 char **error);

#endif
