/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/all_day.c - the same all day: threads that use two locks in turn, for SECONDS
 *
 * What they do between and under the locks takes random times, always of the same distribution.
 * Sections of `narrow` are so long that its holders follow each other: they are most of the path.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS 3
#define SPINS	2000 /* some microsecond */

static pthread_mutex_t narrow = PTHREAD_MUTEX_INITIALIZER, wide = PTHREAD_MUTEX_INITIALIZER;
static double until;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Microseconds from 0 to twice @mean. */
static unsigned long draw(unsigned short *random, unsigned long mean)
{
	return (unsigned long)(2 * (double)mean * erand48(random));
}

/* @which: else the compiler would make one function of all that call this. */
__attribute__((always_inline)) static inline void spin(unsigned long us, int which)
{
	__asm__ volatile("" : : "i"(which));
	for (unsigned long i = 0; i < us * SPINS; i++)
		__asm__ volatile("" : : "r"(i));
}

__attribute__((noinline)) static void pass(unsigned long us)
{
	spin(us, 0);
}

__attribute__((noinline)) static void narrow_work(unsigned long us)
{
	spin(us, 1);
}

__attribute__((noinline)) static void wide_work(unsigned long us)
{
	spin(us, 2);
}

static void *worker(void *number)
{
	unsigned short random[3] = { 1, 2, (unsigned short)(uintptr_t)number };

	while (now() < until) {
		pass(draw(random, 150));
		pthread_mutex_lock(&narrow);
		narrow_work(draw(random, 300));
		pthread_mutex_unlock(&narrow);
		pthread_mutex_lock(&wide);
		wide_work(draw(random, 100));
		pthread_mutex_unlock(&wide);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];

	if (argc != 2)
		return 2;
	until = now() + atof(argv[1]);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, worker, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
