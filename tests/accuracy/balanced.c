/* SPDX-License-Identifier: MIT */
/*
 * tests/accuracy/balanced.c - a loop of OpenMP with iterations of a given shape, which times itself
 *
 * `balanced SHAPE THREADS` runs the loop some times, as OMP_SCHEDULE says, and prints for each time the
 * CPU time of each thread in it, in seconds.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TIMES	   3
#define ITERATIONS 256
#define UNIT	   15000L /* multiplications, about 20 us */
#define MOST	   64	  /* threads */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void work(long units)
{
	unsigned long x = 1;

	for (long i = 0; i < units * UNIT; i++) {
		x *= 0x9e3779b97f4a7c15;
		__asm__ volatile("" : "+r"(x));
	}
}

/* The large ones come first, so that threads that take them as they come end together. */
static long units_of(const char *shape, int i)
{
	if (strcmp(shape, "triangle") == 0)
		return (ITERATIONS - i) / 16;
	if (strcmp(shape, "block") == 0)
		return i < ITERATIONS / 8 ? 32 : 4;
	return 8;
}

int main(int argc, char **argv)
{
	int threads = argc == 3 ? atoi(argv[2]) : 0;

	if (threads < 1 || threads > MOST)
		return 2;
	for (int t = 0; t < TIMES; t++) {
		double used[MOST] = { 0 };

#pragma omp parallel num_threads(threads)
		{
			double from = now();

#pragma omp for schedule(runtime) nowait
			for (int i = 0; i < ITERATIONS; i++)
				work(units_of(argv[1], i));
			used[omp_get_thread_num()] = now() - from;
		}
		for (int i = 0; i < threads; i++)
			printf("%.9f%c", used[i], i + 1 < threads ? ' ' : '\n');
	}
	return 0;
}
