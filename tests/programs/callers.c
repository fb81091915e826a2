/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/callers.c - one function with two callers: 70 : 30 on the critical path, 50 : 50 in
 * CPU time
 *
 * In each round both threads call common() and meet at a barrier; the longer call is on the path. In
 * rounds of one kind that is first()'s, of 7 units beside second()'s of 5; in the others second()'s, of
 * 3 beside first()'s of 1. first() is called through a pointer, at the end of a recursion; second()
 * from the comparison of a qsort(). Argument: pairs of rounds.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/programs/burn.h"

#define UNIT_MS 4
#define DEPTH	20

static pthread_barrier_t met;
static unsigned pairs;
static _Thread_local int wanted_ms;

static __attribute__((noinline)) void common(int ms)
{
	burn_ms(ms);
}

static __attribute__((noinline)) void first(int ms)
{
	common(ms);
	/* No tail call, here and below, and another function than second(). */
	__asm__ volatile("# first" ::: "memory");
}

static void (*volatile call_first)(int ms) = first;

static __attribute__((noinline)) void recurse(unsigned depth, int ms)
{
	if (depth)
		recurse(depth - 1, ms);
	else
		call_first(ms);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void second(int ms)
{
	common(ms);
	__asm__ volatile("# second" ::: "memory");
}

static int compare(const void *a, const void *b)
{
	second(wanted_ms);
	return *(const int *)a - *(const int *)b;
}

static void *one(void *argument)
{
	for (unsigned i = 0; i < 2 * pairs; i++) {
		recurse(DEPTH, (i % 2 ? 1 : 7) * UNIT_MS);
		pthread_barrier_wait(&met);
	}
	return argument;
}

static void *other(void *argument)
{
	for (unsigned i = 0; i < 2 * pairs; i++) {
		int two[2] = { 1, 0 };

		wanted_ms = (i % 2 ? 3 : 5) * UNIT_MS;
		qsort(two, 2, sizeof(*two), compare);
		pthread_barrier_wait(&met);
	}
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t thread[2];

	pairs = argc > 1 ? (unsigned)atoi(argv[1]) : 10;
	pthread_barrier_init(&met, NULL, 2);
	pthread_create(&thread[0], NULL, one, NULL);
	pthread_create(&thread[1], NULL, other, NULL);
	pthread_join(thread[0], NULL);
	pthread_join(thread[1], NULL);
	puts("done");
	return 0;
}
