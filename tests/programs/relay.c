/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/relay.c - runs a relay until its input ends, for whoever watches it
 *
 * Three runners hand a baton on as fast as they can: only one works at a time, so all work is on
 * the critical path, and there is never less work than path. Now and then a runner sends a thread
 * that does next to nothing; a spectator does nothing at all.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <unistd.h>

#define RUNNERS	   3
#define STEPS	   20000
#define PER_THREAD 500

static sem_t baton[RUNNERS], end;
static bool over; /* atomic */

static void *visitor(void *none)
{
	return none;
}

static void *runner(void *number)
{
	sem_t *mine = number, *next = mine + 1 == baton + RUNNERS ? baton : mine + 1;
	pthread_t other;

	for (unsigned round = 0; !__atomic_load_n(&over, __ATOMIC_RELAXED); round++) {
		while (sem_wait(mine))
			;
		for (long i = 0; i < STEPS; i++)
			__asm__ volatile("" : : "r"(i));
		if (round % PER_THREAD == 0 && !pthread_create(&other, NULL, visitor, NULL))
			pthread_join(other, NULL);
		sem_post(next);
	}
	sem_post(next); /* who left may have been waited for once more */
	return NULL;
}

static void *spectator(void *none)
{
	while (sem_wait(&end))
		;
	return none;
}

int main(void)
{
	pthread_t thread[RUNNERS + 1];
	char c;

	sem_init(&end, 0, 0);
	for (int i = 0; i < RUNNERS; i++)
		sem_init(&baton[i], 0, 0);
	for (int i = 0; i < RUNNERS; i++)
		pthread_create(&thread[i], NULL, runner, &baton[i]);
	pthread_create(&thread[RUNNERS], NULL, spectator, NULL);
	sem_post(&baton[0]);
	while (read(STDIN_FILENO, &c, 1))
		;
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	sem_post(&end);
	for (int i = 0; i <= RUNNERS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
