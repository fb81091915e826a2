/* SPDX-License-Identifier: MIT */
/* analysis/verdict/rivals.h - what the windows of a budget tell, and what they do not */
#ifndef CPA_ANALYSIS_VERDICT_RIVALS_H
#define CPA_ANALYSIS_VERDICT_RIVALS_H

#include "analysis/profile/profile.h"

/* What a margin means, or why there is none. NULL: there are no windows. The caller frees it. */
char *cpa_sample_sentence(const struct cpa_program_figures *program);

/*
 * Which two components save about as much, and how many more windows would tell which saves more. NULL: the
 * windows tell, or there are none. The caller frees it.
 */
char *cpa_rivals_sentence(const struct cpa_profile *profile);

/*
 * Which components have another share of the run than of its windows. NULL: none is known to. The caller
 * frees it.
 */
char *cpa_uneven_sentence(const struct cpa_profile *profile);

#endif
