/* SPDX-License-Identifier: MIT */
/*
 * analysis/compare/statistics.h - is the mean of some runs really another than that of some others?
 *
 * Two answers that need no more than a few runs a side: an interval for the ratio of the means, and
 * the probability that a difference as large comes by chance. Whoever asks often is misled
 * sometimes, so the probabilities of several questions are corrected together.
 */
#ifndef CPA_ANALYSIS_COMPARE_STATISTICS_H
#define CPA_ANALYSIS_COMPARE_STATISTICS_H

#include <stddef.h>

struct cpa_sample {
	size_t count;
	const double *value;
};

double cpa_mean(struct cpa_sample sample);
double cpa_median(struct cpa_sample sample);

/* The standard deviation of the values, by count - 1; 0 for fewer than two. */
double cpa_deviation(struct cpa_sample sample);

struct cpa_interval {
	double low, high;
};

/*
 * The interval that holds the ratio mean(@to) / mean(@from) with 95 %, by Welch's method on the
 * logarithms of the means. NAN, NAN: a side has fewer than two values, or a mean that is not above
 * 0.
 */
struct cpa_interval cpa_ratio_interval(struct cpa_sample from, struct cpa_sample to);

/* The same for the difference mean(@to) - mean(@from), by Welch's method. */
struct cpa_interval cpa_difference_interval(struct cpa_sample from, struct cpa_sample to);

/* Enough for 10 values a side; more are drawn by chance, always the same. */
#define CPA_PERMUTATIONS 184756

/*
 * The share of all ways to deal the values to the two sides in which the means differ at least as
 * much as they do: exact for up to CPA_PERMUTATIONS ways, beyond that an estimate from as many. 1
 * if a side has no value.
 */
double cpa_permutation(struct cpa_sample from, struct cpa_sample to);

/* The smallest value that cpa_permutation() can have for sides of @from and @to values. */
double cpa_permutation_least(size_t from, size_t to);

/*
 * Replace the @count probabilities at @p by those that Holm's method corrects: if all are compared
 * with 0.05, one of them is below by chance alone in 5 % of cases. NAN: not a question.
 */
void cpa_holm(double *p, size_t count);

#endif
