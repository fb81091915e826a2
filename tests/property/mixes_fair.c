/* SPDX-License-Identifier: MIT */
/*
 * tests/property/mixes_fair.c - on average each function gets the time that it took
 *
 * A thread does random activities between the same two events, of a few kinds: each has a function and a
 * length, from a tenth of the sampler's period to three of them. Samples fall at random, so that many
 * activities have none. How those are divided (shadow/graph/mixes.h) may be wrong in one run, but not on
 * average over many: then a function would have too much whenever it runs so. Until the first sample of
 * a class of duration nothing is known of it; that takes about a period for each kind.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "shadow/graph/run.h"
#include "tests/property/claims.h"
#include "tests/property/random.h"
#include "tests/unit/shadow_session.h"

#define FUNCTIONS  3u
#define KINDS	   4u
#define ACTIVITIES 2000u
#define RUNS	   300u
#define PERIOD	   UINT64_C(3000000) /* ticks */
#define ERRORS	   6.0		     /* standard errors of a mean: by chance once in 500 million */
#define FIRST	   2.0		     /* periods for each kind of which nothing is known */

enum claim { FAIR, CLAIMS };

static const char *const claim_name[CLAIMS] = {
	[FAIR] = "the mean of what a function is charged with is the time that it took",
};

static struct claims claims = { .name = claim_name, .count = CLAIMS, .what = "programs" };

struct kind {
	uint32_t function;
	uint64_t length; /* ticks */
	unsigned weight; /* how often, compared with the others */
};

static struct kind kinds[KINDS];
static struct cpa_self thread;
static uint32_t slot[FUNCTIONS], id[FUNCTIONS];

/* Between 0 and 1. */
static double fraction(struct rnd *r)
{
	return (double)(rnd_next(r) >> 11) / 9007199254740992.0;
}

/* Ticks from one sample to the next. */
static double until_next(struct rnd *r)
{
	return -(double)PERIOD * log(1 - fraction(r));
}

static void choose_kinds(struct rnd *r)
{
	for (unsigned k = 0; k < KINDS; k++)
		kinds[k] = (struct kind){
			.function = k < FUNCTIONS ? k : (uint32_t)rnd_below(r, FUNCTIONS),
			.length = (uint64_t)((double)PERIOD * 0.1 * pow(30, fraction(r))),
			.weight = 1 + (unsigned)rnd_below(r, 9),
		};
}

static const struct kind *any_kind(struct rnd *r)
{
	unsigned sum = 0, at = 0;
	uint64_t chosen;

	for (unsigned k = 0; k < KINDS; k++)
		sum += kinds[k].weight;
	for (chosen = rnd_below(r, sum); chosen >= kinds[at].weight; at++)
		chosen -= kinds[at].weight;
	return &kinds[at];
}

static int begin(void)
{
	struct cpa_wait wait = { .now = 1 };
	int ret = test_session(UINT64_C(64) << 20, 64);

	memset(&thread, 0, sizeof(thread));
	for (uint32_t f = 0; f < FUNCTIONS && !ret; f++) {
		struct cpa_component_name name = { .kind = CPA_FUNCTION,
						   .address = 4096 * (f + 1) };

		id[f] = cpa_function_id(cpa_component_intern(&name));
		slot[f] = cpa_function_slot(id[f]);
	}
	return ret ? ret : cpa_thread_begin(&thread, 0, 0, NULL, &wait);
}

/* One activity of @kind, with @samples samples. */
static void act(const struct kind *kind, uint32_t samples)
{
	const struct cpa_sampled sample = { id[kind->function], samples };
	struct cpa_span span = { .process = kind->length, .sample = &sample };
	unsigned hint = 0;

	thread.row->node = 1;
	if (!samples) {
		cpa_activity_run(&thread, kind->length, 1, &hint);
		return;
	}
	span.sampled = 1;
	span.sample_period = PERIOD;
	span.sampled_ticks = samples * PERIOD;
	cpa_activity_end(&thread, &span, 1);
}

/* Set @error to what each function is charged with too much, in periods. False: no session. */
static bool run(struct rnd *r, double error[FUNCTIONS])
{
	double next = until_next(r);
	const uint64_t *total;

	if (begin())
		return false;
	memset(error, 0, FUNCTIONS * sizeof(*error));
	for (unsigned i = 0; i < ACTIVITIES; i++) {
		const struct kind *kind = any_kind(r);
		uint32_t samples = 0;

		for (; next < (double)kind->length; next += until_next(r))
			samples++;
		next -= (double)kind->length;
		act(kind, samples);
		error[kind->function] -= (double)kind->length;
	}
	total = cpa_at(thread.row->totals);
	for (uint32_t f = 0; f < FUNCTIONS; f++)
		error[f] = (error[f] + (double)total[slot[f]]) / (double)PERIOD;
	test_rows_clear(&thread);
	cpa_session_destroy();
	return true;
}

static void test(struct rnd r)
{
	double sum[FUNCTIONS] = { 0 }, squares[FUNCTIONS] = { 0 }, error[FUNCTIONS];

	choose_kinds(&r);
	for (unsigned i = 0; i < RUNS; i++) {
		if (!run(&r, error)) {
			printf("# no session\n");
			claims.failed[FAIR] = claims.any = true;
			return;
		}
		for (unsigned f = 0; f < FUNCTIONS; f++) {
			sum[f] += error[f];
			squares[f] += error[f] * error[f];
		}
	}
	for (unsigned f = 0; f < FUNCTIONS; f++) {
		double mean = sum[f] / RUNS;
		double deviation = sqrt(squares[f] / RUNS - mean * mean) / sqrt(RUNS);

		if (!claims_fail(&claims, FAIR, fabs(mean) <= ERRORS * deviation + FIRST * KINDS))
			continue;
		printf("# function %u: %+.1f periods on average, standard error %.1f\n", f, mean,
		       deviation);
		for (unsigned k = 0; k < KINDS; k++)
			printf("# function %u for %.2f periods, weight %u\n", kinds[k].function,
			       (double)kinds[k].length / (double)PERIOD, kinds[k].weight);
		claims.any = true;
	}
}

int main(void)
{
	uint64_t programs = claims_long() ? 200 : 10;

	claims_begin(&claims);
	for (; claims.number < programs && !claims.any; claims.number++)
		test(rnd_sequence(claims.seed, claims.number));
	return claims_end(&claims);
}
