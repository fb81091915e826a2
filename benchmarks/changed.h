/* SPDX-License-Identifier: MIT */
/*
 * benchmarks/changed.h - what the programs of accuracy.py share: switches, and work that is counted
 *
 * A chain of multiplications takes as many cycles whoever runs beside it and whatever the clock says,
 * so that the changed program does exactly the work that the change promises.
 */
#ifndef CPA_BENCHMARKS_CHANGED_H
#define CPA_BENCHMARKS_CHANGED_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MULTIPLICATIONS 800 /* of a unit of work: about a microsecond */

/* The value of the argument NAME=VALUE; @otherwise: there is none. */
static inline double option(int argc, char **argv, const char *name, double otherwise)
{
	size_t length = strlen(name);

	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], name, length) == 0 && argv[i][length] == '=')
			return strtod(argv[i] + length + 1, NULL);
	return otherwise;
}

/* In the function that calls it, so that samples find that one. */
__attribute__((always_inline)) static inline void work(double units)
{
	uint64_t x = 3;

	for (long i = (long)(units * MULTIPLICATIONS); i > 0; i--) {
		x *= UINT64_C(0x9e3779b97f4a7c15);
		__asm__ volatile("" : "+r"(x));
	}
}

/* From 1 to 2 * mean - 1, always the same for the same piece of work. */
static inline double varied(unsigned piece, double mean)
{
	uint32_t x = (piece + 1) * UINT32_C(2654435761);

	x ^= x >> 15;
	x *= UINT32_C(2246822519);
	x ^= x >> 13;
	return 1 + (double)(x % 1024) / 1024 * (2 * mean - 2);
}

#endif
