/* SPDX-License-Identifier: MIT */
/*
 * tests/property/margins_slow.h - the ratio estimator as a textbook has it, with a t quantile by summing
 * the density, and the interval of a share of samples
 */
#ifndef CPA_TESTS_MARGINS_SLOW_H
#define CPA_TESTS_MARGINS_SLOW_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "analysis/profile/components.h"
#include "analysis/profile/margins.h"
#include "analysis/profile/profile.h"

/* Half of the probability within +-@t, by summing the density in steps. */
static inline double slow_half(double freedom, double t)
{
	double front = exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2)) / sqrt(freedom * M_PI);
	double sum = 0, step = t / 20000;

	for (double x = step / 2; x < t; x += step)
		sum += front * pow(1 + x * x / freedom, -(freedom + 1) / 2) * step;
	return sum;
}

static inline double slow_quantile(double freedom)
{
	static double known[CPA_BATCHES_MOST];
	double low = 1, high = 20;

	for (unsigned n = (unsigned)freedom; known[n] == 0;) {
		double t = (low + high) / 2;

		if (high - low < 1e-6)
			known[n] = t;
		else
			*(slow_half(freedom, t) < 0.475 ? &low : &high) = t;
	}
	return known[(unsigned)freedom];
}

/* Half of the 95 % interval of sum(@a) / sum(@b), which is *@ratio, of @batches batches. */
static inline double slow_interval(const double *a, const double *b, size_t batches, double *ratio)
{
	double sum_a = 0, sum_b = 0, squares = 0, n = (double)batches;

	for (size_t i = 0; i < batches; i++) {
		sum_a += a[i];
		sum_b += b[i];
	}
	*ratio = sum_a / sum_b;
	for (size_t i = 0; i < batches; i++) {
		double off = a[i] - *ratio * b[i];

		squares += off * off;
	}
	return slow_quantile(n - 1) * sqrt(squares / (n - 1) / n) / (sum_b / n);
}

/*
 * Half of the interval of the share of a function that has @own_s of @all_s, which @samples found: with two more of
 * the function, and two of others.
 */
static inline double slow_sampled(double own_s, double all_s, double samples)
{
	double share = own_s < all_s ? own_s / all_s : 1;
	double hits = share * samples + 2, misses = samples + 4 - hits, n = hits + misses;

	return samples <= 0 ? 0 : all_s * 1.96 * sqrt(hits / n * (misses / n) / n);
}

/* Whether samples found the time of @c. */
static inline bool slow_is_sampled(const struct cpa_component_figures *c)
{
	return c->kind == CPA_FUNCTION && !c->calls && c->slot != CPA_SLOT_UNSAMPLED;
}

/* The time of all functions that samples found, and what they have of the path, seconds. */
static inline void slow_functions(const struct cpa_profile *profile, double *all_s, double *path_s)
{
	*all_s = *path_s = 0;
	for (size_t i = 0; i < profile->components; i++) {
		if (!slow_is_sampled(&profile->component[i]))
			continue;
		*all_s += profile->component[i].total_s;
		*path_s += profile->component[i].critical_path_s;
	}
}

#endif
