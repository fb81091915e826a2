/* SPDX-License-Identifier: MIT */
/* tests/property/claims.h - counts how often a property test checked each of its claims */
#ifndef CPA_TESTS_CLAIMS_H
#define CPA_TESTS_CLAIMS_H

#include <stdio.h>
#include <stdlib.h>

#include "tests/property/random.h"

#define CLAIMS_MAX 16

struct claims {
	const char *const *name; /* [count] */
	unsigned count;
	const char *what; /* name of one test, for messages */
	uint64_t seed;	  /* seed of all tests */
	uint64_t number;  /* number of the present test; at the end the number of tests */
	bool any;	  /* a claim failed: stop */
	bool failed[CLAIMS_MAX];
	uint64_t done[CLAIMS_MAX]; /* comparisons per claim */
};

/* CPA_LONG=1: run more tests. */
static inline bool claims_long(void)
{
	const char *want = getenv("CPA_LONG");

	return want && *want && *want != '0';
}

static inline void claims_begin(struct claims *claims)
{
	claims->seed = rnd_seed();
	printf("# seed %llu\n", (unsigned long long)claims->seed);
	fflush(stdout);
}

/* Count one comparison of @claim. Return true if it failed; the caller then prints it. */
static inline bool claims_fail(struct claims *claims, unsigned claim, bool holds)
{
	claims->done[claim]++;
	if (holds)
		return false;
	claims->failed[claim] = true;
	return true;
}

/*
 * Print all counts and return the exit status. A claim that was never checked is a failure, unless
 * CPA_HISTORY selects a single test.
 */
static inline int claims_end(struct claims *claims)
{
	bool all = !getenv("CPA_HISTORY");
	unsigned failed = 0;

	for (unsigned c = 0; c < claims->count; c++) {
		claims->failed[c] |= all && !claims->done[c];
		failed += claims->failed[c];
		printf("%sok %u - %s: %llu comparisons in %llu %s (seed %llu)\n",
		       claims->failed[c] ? "not " : "", c + 1, claims->name[c],
		       (unsigned long long)claims->done[c], (unsigned long long)claims->number,
		       claims->what, (unsigned long long)claims->seed);
	}
	printf("%u passed, %u failed, 0 skipped\n", claims->count - failed, failed);
	return failed ? 1 : 0;
}

/*
 * Call @once with the numbers from 0 to @runs - 1, or 20 times as many with CPA_LONG, until a claim
 * fails. Return the exit status.
 */
static inline int claims_run(struct claims *claims, uint64_t runs, void (*once)(uint64_t number))
{
	if (claims_long())
		runs *= 20;
	claims_begin(claims);
	for (; claims->number < runs && !claims->any; claims->number++)
		once(claims->number);
	return claims_end(claims);
}

#endif
