/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/instrumented_cost.c - many calls that do nothing, and deep ones
 *
 * instrumented_cost [CALLS [ROUNDS]]: prints the median of the rounds on standard error, and on
 * standard output what a profiler must not change.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MOST_ROUNDS 99
#define DEEP	    100000

__attribute__((noinline)) static int tiny(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

__attribute__((noinline)) static int leaf_of_two(int n);

__attribute__((noinline)) static int two(int n)
{
	return n ? leaf_of_two(n - 1) + 1 : 0;
}

__attribute__((noinline)) static int leaf_of_two(int n)
{
	return n ? two(n - 1) + 1 : 0;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
	int calls = argc > 1 ? atoi(argv[1]) : 1000000, rounds = argc > 2 ? atoi(argv[2]) : 9;
	double ns[MOST_ROUNDS];
	unsigned sum = 0;

	if (rounds < 1 || rounds > MOST_ROUNDS || calls < 1)
		return 2;
	for (int r = 0; r < rounds; r++) {
		double start = now_ns();

		for (int i = 0; i < calls; i++)
			sum += (unsigned)tiny(i);
		ns[r] = (now_ns() - start) / calls;
	}
	qsort(ns, (size_t)rounds, sizeof(*ns), compare);
	printf("%u %d\n", sum, two(DEEP));
	fprintf(stderr, "%.2f ns of CPU time a call\n", ns[rounds / 2]);
	return 0;
}
