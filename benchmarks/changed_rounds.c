/* SPDX-License-Identifier: MIT */
/*
 * benchmarks/changed_rounds.c - two threads in rounds between barriers, one with more to do
 *
 *	changed_rounds [rounds=120] [heavy=1] [pause_ms=4] [kept=0]
 *
 * heavy: factor of the second thread's additional work; the first thread sleeps pause_ms in each
 * round after its work. kept: each thread has a core of its own.
 */
#include "benchmarks/changed.h"

#include <pthread.h>
#include <unistd.h>

#define BALANCED 2500
#define HEAVY	 4000

static pthread_barrier_t barrier;
static unsigned rounds, pause_us;
static int kept;
static double heavy_factor;

__attribute__((noinline)) static void balanced(unsigned piece)
{
	WORK(varied(piece, BALANCED));
}

__attribute__((noinline)) static void heavy(unsigned piece)
{
	WORK(varied(piece, HEAVY) * heavy_factor);
}

static void *first(void *unused)
{
	if (kept)
		keep_on(0);
	for (unsigned i = 0; i < rounds; i++) {
		balanced(i);
		if (pause_us)
			usleep(pause_us);
		pthread_barrier_wait(&barrier);
	}
	return unused;
}

static void *second(void *unused)
{
	if (kept)
		keep_on(1);
	for (unsigned i = 0; i < rounds; i++) {
		balanced(i + 1);
		heavy(i);
		pthread_barrier_wait(&barrier);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread[2];

	rounds = (unsigned)option(argc, argv, "rounds", 120);
	heavy_factor = option(argc, argv, "heavy", 1);
	pause_us = (unsigned)(1000 * option(argc, argv, "pause_ms", 4));
	kept = option(argc, argv, "kept", 0) > 0;
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread[0], NULL, first, NULL);
	pthread_create(&thread[1], NULL, second, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
