/* SPDX-License-Identifier: MIT */
/*
 * analysis/verdict/guidance.h - sentences that follow from the figures of a profile
 *
 * Advice says what to change first and how much that gains at most; a warning says why figures are
 * weak. Each claim is one of the figures, never a guess about another run.
 */
#ifndef CPA_ANALYSIS_VERDICT_GUIDANCE_H
#define CPA_ANALYSIS_VERDICT_GUIDANCE_H

#include "analysis/profile/profile.h"
#include "analysis/verdict/verdict.h"

#define CPA_GUIDANCE_MAX 8

struct cpa_guidance {
	size_t advices, warnings;
	char *advice[CPA_GUIDANCE_MAX];
	char *warning[CPA_GUIDANCE_MAX];
};

/* Add what @verdict does not say already; nothing contradicts it. */
void cpa_guidance_init(struct cpa_guidance *guidance, const struct cpa_profile *profile,
		       const struct cpa_verdict *verdict);
void cpa_guidance_fini(struct cpa_guidance *guidance);

#endif
