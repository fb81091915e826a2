/* SPDX-License-Identifier: MIT */
/* tests/e2e/openmp_bodies.c - regions in functions that nobody else sees, with work in their bodies */
#include <stdlib.h>

#define STEPS 100000000L

static volatile long sum;

static inline long compute(long seed)
{
	unsigned long x = (unsigned long)seed;

	for (long i = 0; i < STEPS; i++) {
		x *= 0x9e3779b97f4a7c15;
		__asm__ volatile("" : "+r"(x));
	}
	return (long)x;
}

__attribute__((noinline)) static void relax(long seed)
{
#pragma omp parallel num_threads(2)
	sum = compute(seed);
}

/* The compiler may put this one into main(). */
static void smooth(long seed)
{
#pragma omp parallel num_threads(2)
	{
		sum = compute(seed + 1);
	}
}

int main(int argc, char **argv)
{
	(void)argv;
	relax(argc);
	smooth(argc);
	return 0;
}
