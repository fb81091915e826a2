/* SPDX-License-Identifier: MIT */
/*
 * tests/property/mixes_fair.c - on average each function gets the time that it took
 *
 * A thread does random activities between the same two events, of a few kinds: each has a function and a
 * length, from a tenth of the sampler's period to three of them. Samples fall at random, so that many
 * activities have none. How those are divided (shadow/graph/mixes.h) may be wrong in one run, but not on
 * average over many: then a function would have too much whenever it runs so. Until the first sample of
 * a class of duration nothing is known of it; that takes about a period for each kind.
 *
 * Then each kind is between two events of its own, and most kinds are short, so that nothing is known of most
 * events' activities all the time: whose they are (shadow/graph/owed.h) must be right on average, too.
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
#define APART	   24u /* kinds between events of their own */
#define ACTIVITIES 2000u
#define TIME	   60u /* periods of a run with these */
#define RUNS	   300u
#define PERIOD	   UINT64_C(3000000) /* ticks */
#define ERRORS	   6.0		     /* standard errors of a mean: by chance once in 500 million */
#define FIRST	   2.0		     /* periods for each kind of which nothing is known */
#define BEGIN	   2.0 /* periods until the first sample, and what is owed at the end */

enum claim { FAIR, FAIR_APART, CLAIMS };

static const char *const claim_name[CLAIMS] = {
	[FAIR] = "the mean of what a function is charged with is the time that it took",
	[FAIR_APART] = "also if most activities are between events of which nothing is known",
};

static struct claims claims = { .name = claim_name, .count = CLAIMS, .what = "programs" };

struct kind {
	uint32_t function;
	uint64_t length; /* ticks */
	unsigned weight; /* how often, compared with the others */
	uint32_t node;	 /* the event before and after it */
};

static struct kind kinds[APART];
static unsigned kind_count;
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
	kind_count = KINDS;
	for (unsigned k = 0; k < KINDS; k++)
		kinds[k] = (struct kind){
			.function = k < FUNCTIONS ? k : (uint32_t)rnd_below(r, FUNCTIONS),
			.length = (uint64_t)((double)PERIOD * 0.1 * pow(30, fraction(r))),
			.weight = 1 + (unsigned)rnd_below(r, 9),
			.node = 1,
		};
}

/* The first kind is one function's, long and rare; all others are of the other functions. */
static void choose_kinds_apart(struct rnd *r)
{
	kind_count = APART;
	for (unsigned k = 0; k < APART; k++)
		kinds[k] = (struct kind){
			.function = k ? 1 + k % (FUNCTIONS - 1) : 0,
			.length = (uint64_t)((double)PERIOD * (k ? 0.001 : 0.1) *
					     pow(10, fraction(r))),
			.weight = 1 + (k ? (unsigned)rnd_below(r, 9) : 0),
			.node = 1 + k,
		};
}

static const struct kind *any_kind(struct rnd *r)
{
	unsigned sum = 0, at = 0;
	uint64_t chosen;

	for (unsigned k = 0; k < kind_count; k++)
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

	thread.row->node = kind->node;
	if (!samples) {
		cpa_activity_run(&thread, kind->length, kind->node, &hint);
		return;
	}
	span.sampled = 1;
	span.sample_period = PERIOD;
	span.sampled_ticks = samples * PERIOD;
	cpa_activity_end(&thread, &span, kind->node);
}

/* Set @error to what each function is charged with too much, in periods. False: no session. */
static bool run(struct rnd *r, double error[FUNCTIONS])
{
	uint64_t time = kind_count == APART ? TIME * PERIOD : UINT64_MAX;
	double next = until_next(r);
	const uint64_t *total;

	if (begin())
		return false;
	memset(error, 0, FUNCTIONS * sizeof(*error));
	for (unsigned i = 0; time == UINT64_MAX ? i < ACTIVITIES : thread.row->process < time;
	     i++) {
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

/* Whether the kinds are charged with what they take; @slack: periods that they may be off on average. */
static void test(struct rnd r, enum claim claim, double slack)
{
	double sum[FUNCTIONS] = { 0 }, squares[FUNCTIONS] = { 0 }, error[FUNCTIONS];

	for (unsigned i = 0; i < RUNS; i++) {
		if (!run(&r, error)) {
			printf("# no session\n");
			claims.failed[claim] = claims.any = true;
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

		if (!claims_fail(&claims, claim, fabs(mean) <= ERRORS * deviation + slack))
			continue;
		printf("# function %u: %+.1f periods on average, standard error %.1f\n", f, mean,
		       deviation);
		for (unsigned k = 0; k < kind_count; k++)
			printf("# function %u for %.2f periods, weight %u\n", kinds[k].function,
			       (double)kinds[k].length / (double)PERIOD, kinds[k].weight);
		claims.any = true;
	}
}

static void test_both(struct rnd r)
{
	choose_kinds(&r);
	test(r, FAIR, FIRST * KINDS);
	choose_kinds_apart(&r);
	test(r, FAIR_APART, BEGIN);
}

int main(void)
{
	uint64_t programs = claims_long() ? 200 : 10;

	claims_begin(&claims);
	for (; claims.number < programs && !claims.any; claims.number++)
		test_both(rnd_sequence(claims.seed, claims.number));
	return claims_end(&claims);
}
