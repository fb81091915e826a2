/* SPDX-License-Identifier: MIT */
/*
 * benchmarks/changed_section.c - threads that compute, and update something under a lock
 *
 *	changed_section [threads=2] [rounds=500] [inside=1] [outside=1] [locks=1]
 *
 * inside, outside: factors of the work in the section and out of it; locks=0: there is none;
 * locks=N: each round takes one of N.
 */
#include "benchmarks/changed.h"

#include <pthread.h>

#define INSIDE	    700
#define OUTSIDE	    1200
#define LOCKS_MAX   64
#define THREADS_MAX 64u

static pthread_mutex_t lock[LOCKS_MAX];
static unsigned rounds, locks;
static double inside, outside;

__attribute__((noinline)) static void compute(unsigned piece)
{
	WORK(varied(piece, OUTSIDE) * outside);
}

__attribute__((noinline)) static void update(unsigned piece)
{
	WORK(varied(piece + 1, INSIDE) * inside);
}

static void *worker(void *first)
{
	unsigned piece = *(unsigned *)first;

	for (unsigned i = 0; i < rounds; i++, piece += 2) {
		pthread_mutex_t *mine = locks ? &lock[piece / 2 % locks] : NULL;

		compute(piece);
		if (mine)
			pthread_mutex_lock(mine);
		update(piece);
		if (mine)
			pthread_mutex_unlock(mine);
		COZ_PROGRESS;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned threads = (unsigned)option(argc, argv, "threads", 2);
	pthread_t thread[THREADS_MAX];
	unsigned first[THREADS_MAX];

	rounds = (unsigned)option(argc, argv, "rounds", 500);
	locks = (unsigned)option(argc, argv, "locks", 1);
	inside = option(argc, argv, "inside", 1);
	outside = option(argc, argv, "outside", 1);
	if (threads > THREADS_MAX || locks > LOCKS_MAX)
		return 1;
	for (unsigned i = 0; i < LOCKS_MAX; i++)
		pthread_mutex_init(&lock[i], NULL);
	for (unsigned i = 0; i < threads; i++) {
		first[i] = i * 2 * rounds;
		pthread_create(&thread[i], NULL, worker, &first[i]);
	}
	for (unsigned i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
