/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/serial_parallel.c - start-up, balanced work of two threads, serial merge
 *
 *	serial_parallel [MS]    CPU time of each phase and thread, default 900
 *
 * Prints when each phase began and the last one ended, in seconds since main began, and how much of
 * a processor the process had had by then. Start-up and merge meet no event until they end.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/programs/burn.h"

#define WORKERS 2
#define PIECE	5 /* ms */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ms = 900, pieces;
static volatile int part;
static double begun_s;

static double clock_s(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void border(void)
{
	printf("%.6f %.6f\n", clock_s(CLOCK_MONOTONIC) - begun_s,
	       clock_s(CLOCK_PROCESS_CPUTIME_ID));
}

/* What they write differs, so that no compiler makes them one. */
__attribute__((noinline)) static void start_up(void)
{
	part = 1;
	burn_ms(ms);
}

__attribute__((noinline)) static void merge(void)
{
	part = 3;
	burn_ms(ms);
}

static void *worker(void *none)
{
	for (int done = 0; done < ms; done += PIECE) {
		burn_ms(PIECE);
		pthread_mutex_lock(&lock);
		pieces++;
		pthread_mutex_unlock(&lock);
	}
	return none;
}

int main(int argc, char **argv)
{
	pthread_t thread[WORKERS];

	begun_s = clock_s(CLOCK_MONOTONIC);
	if (argc > 1)
		ms = atoi(argv[1]);
	border();
	start_up();
	border();
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&thread[i], NULL, worker, NULL);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(thread[i], NULL);
	border();
	merge();
	border();
	return 0;
}
