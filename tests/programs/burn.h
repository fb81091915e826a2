/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/burn.h - work of a known length of CPU time, for programs that are compared with
 * each other
 *
 * In registers, and in the function that calls it, so that samples find that function.
 */
#ifndef CPA_TESTS_BURN_H
#define CPA_TESTS_BURN_H

#include <stdint.h>
#include <time.h>

#define BURN_FIRST 20000 /* some ten microseconds */
#define BURN_SHARE 0.3	 /* of what is left, before the next look at the clock */
#define BURN_LAST  1000

static inline int64_t burn_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

__attribute__((always_inline)) static inline void burn_ms(int ms)
{
	int64_t begin_ns = burn_clock_ns(), past_ns = 0, wanted_ns = ms * INT64_C(1000000);
	double all = 0, left;
	long spins = BURN_FIRST;

	do {
		for (long i = 0; i < spins; i++)
			__asm__ volatile("" : : "r"(i));
		all += (double)spins;
		past_ns = burn_clock_ns() - begin_ns;
		left = all / (double)past_ns * (double)(wanted_ns - past_ns);
		spins = left * BURN_SHARE > BURN_LAST ? (long)(left * BURN_SHARE) : BURN_LAST;
	} while (past_ns < wanted_ns);
}

#endif
