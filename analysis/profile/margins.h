/* SPDX-License-Identifier: MIT */
/*
 * analysis/profile/margins.h - how sure the figures of a run are of which windows were profiled
 *
 * The windows of a budget are a sample of the run. Their sums (shadow/format/layout_windows.h) make
 * batches: as many windows, neighbours, each, so that what neighbours have in common is in one batch
 * and not in the difference of two. A share is a ratio of sums, of which the windows have different
 * amounts; its variance is that of the ratio estimator: with a and b the batches' sums, R their ratio,
 *
 *   var(R) = sum (a - R b)^2 / (n - 1) / n / mean(b)^2
 *
 * and the interval is R +- t sqrt(var(R)), with the quantile t of n - 1 degrees of freedom. (Cochran,
 * Sampling Techniques, 6.4; batch means: Schmeiser, Operations Research 1982: 10 to 30 of them.)
 */
#ifndef CPA_ANALYSIS_PROFILE_MARGINS_H
#define CPA_ANALYSIS_PROFILE_MARGINS_H

#include "analysis/profile/build.h"

#define CPA_BATCHES_LEAST 10u /* with fewer there is no interval */
#define CPA_BATCHES_MOST  31u

/*
 * Half of the 95 % interval of sum(@a) / sum(@b), of @count batches. NAN: too few, or the sum of @b is
 * not above 0.
 */
double cpa_margin(const double *a, const double *b, size_t count);

/* How many batches @samples of the series make, each of *@step differences of two samples. */
size_t cpa_margin_batches(size_t samples, size_t *step);

#endif
