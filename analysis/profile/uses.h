/* SPDX-License-Identifier: MIT */
/*
 * analysis/profile/uses.h - which code waits for an object, holds it, and was the first to use it
 *
 * From stacks of waits (preload/core/callers.h). Times are what the stacks stand for: shares of
 * them are those of the code; the object's own figures say how much there was in all.
 */
#ifndef CPA_ANALYSIS_PROFILE_USES_H
#define CPA_ANALYSIS_PROFILE_USES_H

#include "analysis/profile/profile.h"

struct cpa_use_figures {
	enum cpa_use_kind kind;
	uint32_t class;	  /* row of a component; 0: none */
	uint32_t context; /* number in struct cpa_contexts, from 1 */
	uint64_t stacks;
	double time_s;
};

/* The uses of kind @kind of class row @class: *@count of them, longest first. */
const struct cpa_use_figures *cpa_uses_of(const struct cpa_profile *profile, uint32_t class,
					  enum cpa_use_kind kind, size_t *count);

#endif
