/* SPDX-License-Identifier: MIT */
/* analysis/verdict/rivals.h - that few windows do not tell which of two components saves more */
#ifndef CPA_ANALYSIS_VERDICT_RIVALS_H
#define CPA_ANALYSIS_VERDICT_RIVALS_H

#include "analysis/profile/profile.h"

/* NULL: they do, or there are no windows. The caller frees it. */
char *cpa_rivals_sentence(const struct cpa_profile *profile);

#endif
