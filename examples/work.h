/* SPDX-License-Identifier: MIT */
/*
 * examples/work.h - a counted amount of work
 *
 * A unit is about a millisecond of CPU time. It is a chain of multiplications: each has to wait for
 * the one before, so the time does not depend on where the compiler puts the loop.
 */
#ifndef CPA_EXAMPLES_WORK_H
#define CPA_EXAMPLES_WORK_H

#define UNIT 750000L /* multiplications */

/* In line, so that a sample shows the function that calls it. */
__attribute__((always_inline)) static inline void work(int units)
{
	unsigned long x = 1;

	for (long i = 0; i < units * UNIT; i++) {
		x *= 0x9e3779b97f4a7c15;
		__asm__ volatile("" : "+r"(x));
	}
}

#endif
