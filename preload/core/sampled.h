/* SPDX-License-Identifier: MIT */
/* preload/core/sampled.h - the functions that the samples of an activity found */
#ifndef CPA_PRELOAD_CORE_SAMPLED_H
#define CPA_PRELOAD_CORE_SAMPLED_H

#include "preload/core/sampler.h"

/* Add @weight to what the activity has of the function with id @function. */
CPA_HIDDEN void cpa_sampled_add(struct cpa_sampler *s, uint32_t function, uint32_t weight);

/* The activity ends: give what is not in `sample` yet its places there. */
CPA_HIDDEN void cpa_sampled_end(struct cpa_sampler *s);

/* Begin with no samples. */
CPA_HIDDEN void cpa_sampled_drop(struct cpa_sampler *s);

#endif
