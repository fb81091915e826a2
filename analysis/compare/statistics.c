/* SPDX-License-Identifier: MIT */
#include "analysis/compare/statistics.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/util/student.h"

#define TAIL 0.025 /* on either side of an interval */

double cpa_mean(struct cpa_sample sample)
{
	double sum = 0;

	for (size_t i = 0; i < sample.count; i++)
		sum += sample.value[i];
	return sample.count ? sum / (double)sample.count : 0;
}

double cpa_deviation(struct cpa_sample sample)
{
	double mean = cpa_mean(sample), sum = 0;

	for (size_t i = 0; i < sample.count; i++)
		sum += (sample.value[i] - mean) * (sample.value[i] - mean);
	return sample.count > 1 ? sqrt(sum / (double)(sample.count - 1)) : 0;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double cpa_median(struct cpa_sample sample)
{
	double *copy, median;

	if (!sample.count)
		return 0;
	copy = xmemdup(sample.value, sample.count * sizeof(*copy), sample.count * sizeof(*copy));
	qsort(copy, sample.count, sizeof(*copy), compare_doubles);
	median = (copy[(sample.count - 1) / 2] + copy[sample.count / 2]) / 2;
	free(copy);
	return median;
}

/* Half of the width of the interval of a sum of two values with variances @a and @b. */
static double welch(double a, size_t count_a, double b, size_t count_b)
{
	double sum = a + b, freedom;

	if (sum <= 0)
		return 0;
	freedom = sum * sum / (a * a / (double)(count_a - 1) + b * b / (double)(count_b - 1));
	return cpa_student(freedom, TAIL) * sqrt(sum);
}

/* The variance of the mean. */
static double mean_variance(struct cpa_sample sample)
{
	double deviation = cpa_deviation(sample);

	return deviation * deviation / (double)sample.count;
}

struct cpa_interval cpa_ratio_interval(struct cpa_sample from, struct cpa_sample to)
{
	double a = cpa_mean(from), b = cpa_mean(to), half;

	if (from.count < 2 || to.count < 2 || !(a > 0) || !(b > 0))
		return (struct cpa_interval){ NAN, NAN };
	half = welch(mean_variance(from) / (a * a), from.count, mean_variance(to) / (b * b),
		     to.count);
	return (struct cpa_interval){ exp(log(b / a) - half), exp(log(b / a) + half) };
}

struct cpa_interval cpa_difference_interval(struct cpa_sample from, struct cpa_sample to)
{
	double difference = cpa_mean(to) - cpa_mean(from), half;

	if (from.count < 2 || to.count < 2)
		return (struct cpa_interval){ NAN, NAN };
	half = welch(mean_variance(from), from.count, mean_variance(to), to.count);
	return (struct cpa_interval){ difference - half, difference + half };
}

/*
 * How many ways there are to choose @chosen of @count; INFINITY-like large numbers are exact
 * enough.
 */
static double ways(size_t count, size_t chosen)
{
	double product = 1;

	for (size_t i = 1; i <= chosen; i++)
		product = product * (double)(count - chosen + i) / (double)i;
	return product;
}

/* The values of both sides, and how large a difference counts. */
struct dealing {
	double *value; /* [count] */
	size_t count, chosen;
	double sum;	/* of all values */
	double limit;	/* the difference of the means that was found */
	double as_much; /* ways with a difference at least as large */
};

static void judge(struct dealing *dealing, double chosen_sum)
{
	double chosen = chosen_sum / (double)dealing->chosen;
	double rest = (dealing->sum - chosen_sum) / (double)(dealing->count - dealing->chosen);

	dealing->as_much += fabs(chosen - rest) >= dealing->limit;
}

/* Each way to choose @left more values of those from @at on; @sum: of those chosen so far. */
static void deal(struct dealing *dealing, size_t at, size_t left, double sum)
{
	if (!left) {
		judge(dealing, sum);
		return;
	}
	for (size_t i = at; i + left <= dealing->count; i++)
		deal(dealing, i + 1, left - 1, sum + dealing->value[i]);
}

/* Deal CPA_PERMUTATIONS times by chance: a shuffle that stops when one side has its values. */
static void draw(struct dealing *dealing)
{
	uint64_t state = 1;

	for (int n = 0; n < CPA_PERMUTATIONS; n++) {
		double sum = 0;

		for (size_t i = 0; i < dealing->chosen && i < dealing->count; i++) {
			size_t other;
			double value;

			/* Knuth's linear congruential generator; its high bits are good. */
			state = state * UINT64_C(6364136223846793005) +
				UINT64_C(1442695040888963407);
			other = i + (size_t)(state >> 33) % (dealing->count - i);
			value = dealing->value[other];
			dealing->value[other] = dealing->value[i];
			dealing->value[i] = value;
			sum += value;
		}
		judge(dealing, sum);
	}
}

double cpa_permutation(struct cpa_sample from, struct cpa_sample to)
{
	struct dealing dealing = { .count = from.count + to.count, .chosen = from.count };
	double all, scale = 0;

	if (!from.count || !to.count)
		return 1;
	dealing.value = xmalloc(dealing.count * sizeof(*dealing.value));
	memcpy(dealing.value, from.value, from.count * sizeof(*from.value));
	memcpy(dealing.value + from.count, to.value, to.count * sizeof(*to.value));
	for (size_t i = 0; i < dealing.count; i++) {
		dealing.sum += dealing.value[i];
		scale += fabs(dealing.value[i]);
	}
	/* Equal differences may come out unequal in their last bits. */
	dealing.limit = fabs(cpa_mean(from) - cpa_mean(to)) - 1e-12 * scale;
	all = ways(dealing.count, dealing.chosen);
	if (all <= CPA_PERMUTATIONS) {
		deal(&dealing, 0, dealing.chosen, 0);
	} else {
		/* The way that was found is one of those drawn. */
		draw(&dealing);
		all = CPA_PERMUTATIONS + 1;
		dealing.as_much++;
	}
	free(dealing.value);
	return dealing.as_much / all;
}

double cpa_permutation_least(size_t from, size_t to)
{
	double all = ways(from + to, from);

	/* Two sides of one size can be exchanged. */
	return all <= CPA_PERMUTATIONS ? (from == to ? 2 : 1) / all : 1.0 / (CPA_PERMUTATIONS + 1);
}

void cpa_holm(double *p, size_t count)
{
	bool *done = xcalloc(count + 1, sizeof(*done));
	size_t questions = 0;
	double before = 0;

	for (size_t i = 0; i < count; i++)
		questions += !isnan(p[i]);
	for (size_t left = questions; left; left--) {
		size_t least = count;
		double corrected;

		for (size_t i = 0; i < count; i++)
			if (!done[i] && !isnan(p[i]) && (least == count || p[i] < p[least]))
				least = i;
		corrected = fmin(1, p[least] * (double)left);
		before = fmax(before, corrected);
		p[least] = before;
		done[least] = true;
	}
	free(done);
}
