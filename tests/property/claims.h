/* SPDX-License-Identifier: MIT */
/*
 * tests/property/claims.h - what a property test says of its claims: how often each was put to the
 * test
 */
#ifndef CPA_TESTS_CLAIMS_H
#define CPA_TESTS_CLAIMS_H

#include <stdio.h>
#include <stdlib.h>

#include "tests/property/random.h"

#define CLAIMS_MAX 16

struct claims {
	const char *const *name; /* [count] */
	unsigned count;
	const char *what; /* a test is called */
	uint64_t seed;	  /* of all tests */
	uint64_t number;  /* of the test under way; in the end how many there were */
	bool any;	  /* something has failed: enough */
	bool failed[CLAIMS_MAX];
	uint64_t done[CLAIMS_MAX]; /* comparisons */
};

/* CPA_LONG=1: more is wanted. */
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

/* One comparison of @claim. Return true if it failed, which the caller then tells. */
static inline bool claims_fail(struct claims *claims, unsigned claim, bool holds)
{
	claims->done[claim]++;
	if (holds)
		return false;
	claims->failed[claim] = true;
	return true;
}

/*
 * Print all. What never occurs is not tested, but where CPA_HISTORY asks for a single test. Return
 * the exit status.
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

#endif
