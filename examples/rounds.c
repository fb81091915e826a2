/* SPDX-License-Identifier: MIT */
/*
 * examples/rounds.c - threads that wait at a barrier for the one with more to do
 *
 * Four threads do 30 rounds with a barrier after each. In a round every thread does 3 units in the
 * region "interior"; the first thread does 8 units more in the region "edge".
 *
 * Critical path: 30 x (3 + 8) = 330 units. "interior" takes the most CPU time, 30 x 4 x 3 = 360
 * units against 30 x 8 = 240 of "edge". Without "interior" the path is 240 units, so it saves 90;
 * without "edge" it is 90 units, so that saves 240. An argument is another number of units of "edge".
 */
#include "examples/work.h"

#include "preload/cpa.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#define THREADS 4
#define ROUNDS	30

static pthread_barrier_t round_end;
static int edge = 8;

static void *solver(void *first)
{
	for (int i = 0; i < ROUNDS; i++) {
		CPA_REGION_BEGIN("interior");
		work(3);
		CPA_REGION_END();
		if (first) {
			CPA_REGION_BEGIN("edge");
			work(edge);
			CPA_REGION_END();
		}
		pthread_barrier_wait(&round_end);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	static bool first;

	if (argc > 1)
		edge = atoi(argv[1]);
	pthread_barrier_init(&round_end, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, solver, i == 0 ? &first : NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
