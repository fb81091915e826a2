/* SPDX-License-Identifier: MIT */
/*
 * analysis/profile/evenness.h - whether windows of a budget are spread evenly over what the program does
 *
 * The gap before a window is drawn from 0 to twice a mean, which is longer where cpa costs more. So a window
 * begins at a moment of the run with a probability that differs from phase to phase, and the sums of all windows favour
 * the phases in which cpa costs little. A window stands for the mean gap before it and for itself: weighted by that, its
 * sums estimate those of the run (Horvitz and Thompson, Journal of the American Statistical Association 1952). The
 * mean was chosen before the window was seen, so what happens in the window does not change its weight.
 *
 * Windows between two samples of the series (shadow/format/layout_windows.h) have one weight. Where they
 * are many, phases shorter than they together are still favoured.
 */
#ifndef CPA_ANALYSIS_PROFILE_EVENNESS_H
#define CPA_ANALYSIS_PROFILE_EVENNESS_H

#include "analysis/profile/build.h"
#include "analysis/profile/margins.h"

/* A share that differs by less, or by no more than chance explains in 95 of 100 cases, is not told. */
#define CPA_UNEVEN_LEAST 0.03

/*
 * Fill in profile.uneven and program.stands_for_s from @batches. @since [slots]: 0 if the values of the slot are those of its present
 * component in all samples.
 */
void cpa_evenness_find(struct cpa_build *build, const struct cpa_batches *batches,
		       const uint64_t *since);

#endif
