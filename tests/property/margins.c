/* SPDX-License-Identifier: MIT */
/*
 * tests/property/margins.c - intervals of a run profiled in windows, against all of its windows
 *
 * Windows have random sums, some of them alike for a while. The product keeps them in a series that
 * folds and computes margins from its batches; the reference keeps each window, cuts them into batches
 * of the size that docs/parts.md says, and computes slowly: tests/property/margins_slow.h.
 *
 * How often the interval holds the ratio from which the windows were drawn is counted, too, of draws that
 * are always the same.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/ctl/window_sums.h"
#include "analysis/profile/margins.h"
#include "tests/property/claims.h"
#include "tests/property/margins_slow.h"

#define MOST 1200u /* windows */
#define LENGTH                                    \
	(CPA_WINDOW_FIELDS + CPA_WINDOW_VECTORS + \
	 CPA_WINDOW_ROW_VALUES * CPA_WINDOW_ROWS) /* of one slot */
#define LEN   CPA_WINDOW_LEN
#define SHARE (CPA_WINDOW_FIELDS + CPA_WINDOW_SHARE)

enum claim { SAMPLES, MARGINS, HOLDS, HITS, CLAIMS };

static const char *const claim_name[CLAIMS] = {
	[SAMPLES] = "the series has the sums of the windows that docs/parts.md names",
	[MARGINS] = "margins are those of the slow computation",
	[HOLDS] = "intervals of independent windows hold the ratio in 95 of 100 runs",
	[HITS] =
		"intervals of a function that samples hit hold its share in 95 of 100 runs, or more",
};

static struct claims claims = { .name = claim_name, .count = CLAIMS, .what = "runs" };

/* What each window had. */
static uint64_t path[MOST], part[MOST];
static uint64_t now[2]; /* sums of path and part so far */

static bool read_now(void *fails, uint64_t *sample)
{
	if (*(bool *)fails) {
		memset(sample, 0xff, LENGTH * sizeof(*sample));
		return false;
	}
	memset(sample, 0, LENGTH * sizeof(*sample));
	sample[LEN] = now[0];
	sample[SHARE] = now[1];
	return true;
}

/* Of @batches batches of @size windows each, from the first on. */
static double slow_margin(size_t batches, size_t size, double *ratio)
{
	double a[CPA_BATCHES_MOST] = { 0 }, b[CPA_BATCHES_MOST] = { 0 };

	for (size_t i = 0; i < batches * size; i++) {
		a[i / size] += (double)part[i];
		b[i / size] += (double)path[i];
	}
	return slow_interval(a, b, batches, ratio);
}

/* The size of a batch: the least power of two with which @windows make 31 batches at most. */
static size_t size_for(size_t windows)
{
	size_t size = 1;

	while (windows / size > 31)
		size *= 2;
	return size;
}

static bool near(double found, double expected)
{
	return fabs(found - expected) <= 1e-6 * fabs(expected) + 1e-12;
}

/* Begin @windows windows and one more, so that all of them have ended. */
static struct cpa_window_series *fill(struct rnd *r, size_t windows)
{
	struct cpa_window_series *series =
		calloc(1, sizeof(*series) + CPA_WINDOW_SAMPLES * LENGTH * sizeof(uint64_t));

	if (!series)
		exit(2);
	series->slots = 1;
	now[0] = now[1] = 0;
	for (size_t i = 0; i <= windows; i++) {
		bool fails = rnd_percent(r, 5);

		/* A sample that cannot be read: then the window is tried again. */
		if (fails && series->windows == (uint64_t)series->samples << series->level &&
		    series->samples < CPA_WINDOW_SAMPLES)
			cpa_window_sums_count(series, 0, read_now, &fails);
		fails = false;
		cpa_window_sums_count(series, 0, read_now, &fails);
		if (i == windows)
			break;
		now[0] += path[i];
		now[1] += part[i];
	}
	return series;
}

static bool check(struct rnd *r, size_t windows, double truth, bool *held)
{
	struct cpa_window_series *series = fill(r, windows);
	size_t step, batches = cpa_margin_batches(series->samples, &step), size = size_for(windows);
	double a[CPA_BATCHES_MOST], b[CPA_BATCHES_MOST], found, expected, ratio;
	uint64_t sums[2] = { 0, 0 };
	bool good = batches == windows / size && step << series->level == size;

	for (size_t k = 0; k < batches && good; k++) {
		const uint64_t *from = series->value + k * step * LENGTH,
			       *to = from + step * LENGTH;

		a[k] = (double)(to[SHARE] - from[SHARE]);
		b[k] = (double)(to[LEN] - from[LEN]);
		good &= from[LEN] == sums[0] && from[SHARE] == sums[1];
		for (size_t i = k * size; i < (k + 1) * size; i++) {
			sums[0] += path[i];
			sums[1] += part[i];
		}
		good &= to[LEN] == sums[0] && to[SHARE] == sums[1];
	}
	free(series);
	if (claims_fail(&claims, SAMPLES, good)) {
		printf("# run %llu, %zu windows: %zu batches\n", (unsigned long long)claims.number,
		       windows, batches);
		return false;
	}
	found = cpa_margin(a, b, batches);
	if (batches < 10)
		return !claims_fail(&claims, MARGINS, isnan(found));
	expected = slow_margin(batches, size, &ratio);
	*held = fabs(ratio - truth) <= found;
	if (!claims_fail(&claims, MARGINS, near(found, expected)))
		return true;
	printf("# run %llu, %zu windows: margin %.9g, expected %.9g\n",
	       (unsigned long long)claims.number, windows, found, expected);
	return false;
}

/* Windows that depend on those before, some of them empty. */
static void run_any(struct rnd *r)
{
	size_t windows = 1 + rnd_below(r, MOST);
	uint64_t level = 1 + rnd_below(r, 1000);
	unsigned stays = (unsigned)rnd_below(r, 100);
	bool held;

	for (size_t i = 0; i < windows; i++) {
		if (!rnd_percent(r, stays))
			level = 1 + rnd_below(r, 1000);
		path[i] = rnd_percent(r, 10) ? 0 : 1 + rnd_below(r, 100000);
		part[i] = path[i] * level / 1000;
	}
	path[0] += 1;
	claims.any |= !check(r, windows, 0, &held);
}

/* How many of @runs intervals hold the ratio, which is 3/10 of windows that are independent. */
static void run_independent(unsigned runs)
{
	unsigned held = 0, least, most;
	double off = 3.9 * sqrt(runs * 0.95 * 0.05); /* beyond: 1 of 10,000 */

	for (unsigned n = 0; n < runs && !claims.any; n++) {
		struct rnd r = rnd_sequence(30, n);
		size_t windows = 16 + rnd_below(&r, 185);
		bool one = false;

		for (size_t i = 0; i < windows; i++) {
			path[i] = 50000 + rnd_below(&r, 50000);
			/* From 1/10 to 5/10 of a path. */
			part[i] = path[i] / 10 + path[i] * rnd_below(&r, 4001) / 10000;
		}
		claims.number++;
		claims.any |= !check(&r, windows, 0.3, &one);
		held += one;
	}
	/* The estimator is of large samples: with 10 to 31 batches it holds in 94 to 95 %. */
	least = (unsigned)(0.94 * runs - off);
	most = (unsigned)(0.955 * runs + off);
	printf("# %u of %u intervals hold the ratio\n", held, runs);
	if (!claims.any && claims_fail(&claims, HOLDS, held >= least && held <= most))
		printf("# from %u to %u expected\n", least, most);
}

/* @runs times @samples samples, of which each hits a function of @share of the time. */
static void run_samples(unsigned runs, unsigned samples, double share)
{
	unsigned held = 0, least = (unsigned)(0.95 * runs - 3.9 * sqrt(runs * 0.95 * 0.05));

	for (unsigned n = 0; n < runs; n++) {
		struct rnd r = rnd_sequence(31 + samples, n);
		double hits = 0;

		for (unsigned i = 0; i < samples; i++)
			hits += (double)rnd_below(&r, 1000) < 1000 * share;
		held += fabs(hits / samples - share) <=
			cpa_margin_of_samples(hits / samples, samples);
	}
	if (claims_fail(&claims, HITS, held >= least))
		printf("# %u samples, share %g: %u of %u hold it\n", samples, share, held, runs);
}

int main(void)
{
	static const unsigned samples[] = { 20, 60, 100, 500 };
	static const double share[] = { 0.001, 0.01, 0.03, 0.3, 0.7 };

	unsigned tests = claims_long() ? 20000 : 1000;

	claims_begin(&claims);
	for (; claims.number < tests && !claims.any; claims.number++) {
		struct rnd r = rnd_sequence(claims.seed, claims.number);

		run_any(&r);
	}
	run_independent(claims_long() ? 20000 : 2000);
	for (unsigned i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
		for (unsigned k = 0; k < sizeof(share) / sizeof(share[0]); k++)
			run_samples(2000, samples[i], share[k]);
	return claims_end(&claims);
}
