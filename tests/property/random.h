/* SPDX-License-Identifier: MIT */
/*
 * tests/property/random.h - numbers that a printed seed reproduces
 */
#ifndef CPA_TESTS_RANDOM_H
#define CPA_TESTS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

struct rnd {
	uint64_t state;
};

/* SplitMix64 (Steele et al., OOPSLA 2014). */
static inline uint64_t rnd_next(struct rnd *r)
{
	uint64_t x = r->state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* Return a number from 0 to @n - 1; 0 if @n is 0. */
static inline uint64_t rnd_below(struct rnd *r, uint64_t n)
{
	return n ? rnd_next(r) % n : 0;
}

static inline bool rnd_percent(struct rnd *r, unsigned percent)
{
	return rnd_below(r, 100) < percent;
}

/* Return sequence number @n of @seed, independent of draws from other sequences. */
static inline struct rnd rnd_sequence(uint64_t seed, uint64_t n)
{
	struct rnd r = { seed * UINT64_C(0xd1342543de82ef95) + n };

	r.state = rnd_next(&r);
	return r;
}

/* Return CPA_SEED, or a new seed for each run. */
static inline uint64_t rnd_seed(void)
{
	const char *given = getenv("CPA_SEED");
	struct timespec now;

	if (given && *given)
		return strtoull(given, NULL, 0);
	clock_gettime(CLOCK_REALTIME, &now);
	return ((uint64_t)now.tv_sec * UINT64_C(1000000007) + (uint64_t)now.tv_nsec) % 1000000000;
}

#endif
