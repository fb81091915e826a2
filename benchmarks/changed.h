/* SPDX-License-Identifier: MIT */
/*
 * benchmarks/changed.h - what the programs of accuracy.py share: switches, and work that is counted
 *
 * A chain of multiplications takes as many cycles whoever runs beside it and whatever the clock
 * says, so that the changed program does exactly the work that the change promises.
 */
#ifndef CPA_BENCHMARKS_CHANGED_H
#define CPA_BENCHMARKS_CHANGED_H

#include <sched.h>
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

/* Keep the calling thread on the first or, with @second, the second core that it may use. */
static inline void keep_on(int second)
{
	cpu_set_t allowed, one;
	int cpu = -1;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int i = 0; i <= second && cpu < CPU_SETSIZE; i++)
		do
			cpu++;
		while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &allowed));
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

/*
 * Of @units. A macro: to samples and to tools that know lines, it is the function and the line that
 * want it.
 */
#define WORK(units)                                                             \
	do {                                                                    \
		uint64_t x_ = 3;                                                \
                                                                                \
		for (long i_ = (long)((units)*MULTIPLICATIONS); i_ > 0; i_--) { \
			x_ *= UINT64_C(0x9e3779b97f4a7c15);                     \
			__asm__ volatile("" : "+r"(x_));                        \
		}                                                               \
	} while (0)

/* Where a causal profiler is to see progress, in a build for it. */
#ifdef PROGRESS
#include <coz.h>
#else
#define COZ_PROGRESS
#endif

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
