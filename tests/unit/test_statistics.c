/* SPDX-License-Identifier: MIT */
/* tests/unit/test_statistics.c - intervals and probabilities against slow, obvious references */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include <math.h>

#include "analysis/compare/statistics.h"
#include "analysis/util/student.h"
#include "tests/property/random.h"

#define MOST 6 /* values a side */
#define TEST cmocka_unit_test

static struct cpa_sample sample(const double *value, size_t count)
{
	return (struct cpa_sample){ count, value };
}

static void assert_near(double found, double expected, double error)
{
	if (!(fabs(found - expected) <= error))
		fail_msg("%.9g found, %.9g expected", found, expected);
}

/* Every subset of all values, as bits of a number. */
static double slow_permutation(struct cpa_sample a, struct cpa_sample b)
{
	double all[2 * MOST], found = fabs(cpa_mean(a) - cpa_mean(b)), as_much = 0, ways = 0;
	size_t count = a.count + b.count;

	for (size_t i = 0; i < count; i++)
		all[i] = i < a.count ? a.value[i] : b.value[i - a.count];
	for (unsigned set = 0; set < 1u << count; set++) {
		double in = 0, out = 0;

		if ((size_t)__builtin_popcount(set) != a.count)
			continue;
		for (size_t i = 0; i < count; i++)
			*(set >> i & 1 ? &in : &out) += all[i];
		ways++;
		as_much += fabs(in / (double)a.count - out / (double)b.count) >= found - 1e-9;
	}
	return as_much / ways;
}

static void test_permutation_is_exact(void **state)
{
	uint64_t seed = rnd_seed();
	struct rnd r = rnd_sequence(seed, 0);

	(void)state;
	printf("# CPA_SEED=%llu\n", (unsigned long long)seed);
	for (int n = 0; n < 300; n++) {
		double a[MOST], b[MOST];
		size_t count_a = 1 + rnd_below(&r, MOST), count_b = 1 + rnd_below(&r, MOST);

		/* Few values, so that there are ties. */
		for (size_t i = 0; i < MOST; i++) {
			a[i] = (double)rnd_below(&r, n % 2 ? 5 : 1000) / 7;
			b[i] = (double)rnd_below(&r, n % 2 ? 5 : 1000) / 7;
		}
		assert_near(cpa_permutation(sample(a, count_a), sample(b, count_b)),
			    slow_permutation(sample(a, count_a), sample(b, count_b)), 1e-12);
	}
}

static void test_least_probability(void **state)
{
	double low[10], high[10];

	(void)state;
	for (int i = 0; i < 10; i++) {
		low[i] = i;
		high[i] = 100 + i;
	}
	for (size_t n = 1; n <= 10; n++)
		for (size_t m = 1; m <= 10; m++)
			if (n <= 4 || m <= 4 || n == m)
				assert_near(cpa_permutation(sample(low, n), sample(high, m)),
					    cpa_permutation_least(n, m), 1e-12);
	/* 5 and 5: 2 of 252 ways. */
	assert_near(cpa_permutation_least(5, 5), 2.0 / 252, 1e-12);
	assert_near(cpa_permutation_least(3, 3), 0.1, 1e-12);
}

/* Beyond 10 values a side it draws: the same each time, and near to what is known. */
static void test_many_values_are_drawn(void **state)
{
	double a[12], b[12];

	(void)state;
	for (int i = 0; i < 12; i++) {
		a[i] = i;
		b[i] = i + 100;
	}
	assert_true(cpa_permutation(sample(a, 12), sample(b, 12)) < 1e-4);
	assert_near(cpa_permutation(sample(a, 12), sample(a, 12)), 1, 0);
	for (int i = 0; i < 12; i++)
		b[i] = i + 3;
	assert_true(cpa_permutation(sample(a, 12), sample(b, 12)) ==
		    cpa_permutation(sample(a, 12), sample(b, 12)));
	/* As 100,000 shuffles by another generator say. */
	assert_near(cpa_permutation(sample(a, 12), sample(b, 12)), 0.0614, 0.003);
}

/* The tail of the t distribution, by summing its density in small steps. */
static double slow_tail(double freedom, double t)
{
	double front = exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2)) / sqrt(freedom * M_PI);
	double sum = 0, step = t / 200000;

	for (double x = step / 2; x < t; x += step)
		sum += front * pow(1 + x * x / freedom, -(freedom + 1) / 2) * step;
	return 0.5 - sum;
}

static void test_student(void **state)
{
	static const double freedoms[] = { 1, 1.5, 2, 4, 8, 8.3, 30, 1000 };

	(void)state;
	for (size_t i = 0; i < sizeof(freedoms) / sizeof(*freedoms); i++)
		assert_near(slow_tail(freedoms[i], cpa_student(freedoms[i], 0.025)), 0.025, 1e-6);
	/* From any table. */
	assert_near(cpa_student(4, 0.025), 2.776, 0.001);
	assert_near(cpa_student(8, 0.025), 2.306, 0.001);
}

/* Of sides with the same known ratio the interval holds it in about 95 % of cases. */
static void test_interval_holds_the_ratio(void **state)
{
	unsigned held = 0, cases = 2000;
	/* Always the same draws: the share varies from seed to seed. */
	struct rnd r = rnd_sequence(29, 0);

	(void)state;
	for (unsigned n = 0; n < cases; n++) {
		double a[5], b[5];
		struct cpa_interval interval;

		for (size_t i = 0; i < 5; i++) {
			a[i] = b[i] = 0;
			/* Sums of twelve: nearly normal. */
			for (int k = 0; k < 12; k++) {
				a[i] += (double)rnd_below(&r, 1000) / 1000;
				b[i] += (double)rnd_below(&r, 1000) / 1000;
			}
			a[i] = 100 + 5 * (a[i] - 6);
			b[i] = 1.1 * (100 + 5 * (b[i] - 6));
		}
		interval = cpa_ratio_interval(sample(a, 5), sample(b, 5));
		held += interval.low <= 1.1 && interval.high >= 1.1;
	}
	/* Five standard errors. */
	assert_near((double)held / cases, 0.95, 0.025);
}

static void test_interval_of_known_values(void **state)
{
	static const double a[] = { 99, 100, 101 }, b[] = { 198, 200, 202 }, none[] = { 0, 0 };
	struct cpa_interval ratio = cpa_ratio_interval(sample(a, 3), sample(b, 3));
	struct cpa_interval difference = cpa_difference_interval(sample(a, 3), sample(b, 3));

	(void)state;
	/* Means vary by 1/sqrt(3) %, 4 degrees of freedom. */
	assert_near(ratio.high, 2 * exp(2.776 * sqrt(2.0 / 3) / 100), 1e-4);
	assert_near(ratio.low * ratio.high, 4, 1e-9);
	/* Variances of means 1/3 and 4/3: 2.94 degrees. */
	assert_near(difference.high - 100, cpa_student(50.0 / 17, 0.025) * sqrt(5.0 / 3), 1e-6);
	assert_true(isnan(cpa_ratio_interval(sample(a, 1), sample(b, 3)).low));
	assert_true(isnan(cpa_ratio_interval(sample(none, 2), sample(b, 3)).low));
	ratio = cpa_ratio_interval(sample(none, 0), sample(b, 3));
	assert_true(isnan(ratio.high));
}

/* Holm: the i-th smallest times the number of those that are left, never less than one before. */
static void test_holm(void **state)
{
	double p[] = { 0.04, NAN, 0.01, 0.03, 0.005, 0.9 };
	double alone = 0.03;

	(void)state;
	cpa_holm(p, 6);
	assert_near(p[4], 0.025, 1e-12);
	assert_near(p[2], 0.04, 1e-12);
	assert_near(p[3], 0.09, 1e-12);
	assert_near(p[0], 0.09, 1e-12);
	assert_near(p[5], 0.9, 1e-12);
	assert_true(isnan(p[1]));
	cpa_holm(&alone, 1);
	assert_near(alone, 0.03, 0);
	cpa_holm(NULL, 0);
}

static void test_means_and_medians(void **state)
{
	static const double v[] = { 4, 1, 3, 100 };

	(void)state;
	assert_near(cpa_mean(sample(v, 4)), 27, 0);
	assert_near(cpa_median(sample(v, 4)), 3.5, 0);
	assert_near(cpa_median(sample(v, 3)), 3, 0);
	assert_near(cpa_deviation(sample(v, 3)), sqrt(7.0 / 3), 1e-12);
	assert_near(cpa_deviation(sample(v, 1)), 0, 0);
	assert_near(cpa_median(sample(v, 0)), 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_permutation_is_exact),
		TEST(test_least_probability),
		TEST(test_many_values_are_drawn),
		TEST(test_student),
		TEST(test_interval_holds_the_ratio),
		TEST(test_interval_of_known_values),
		TEST(test_holm),
		TEST(test_means_and_medians),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
