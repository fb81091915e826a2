/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/lock_callers.c - a lock with one place that holds it and one that waits for it
 *
 * The keeper takes the lock, lets the taker come, and holds it for CPU time when that one waits; the taker
 * gives it back at once. Nobody else uses it. Rounds are so few that all waits of the process, three a round
 * and two joins, and first uses of objects are among the 32 that have a stack each (preload/core/callers.c).
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

#include "tests/conformance/asleep.h"
#include "tests/programs/burn.h"

#define ROUNDS	6
#define HELD_MS 60

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t held, taken;
static volatile int taking; /* which thread does, or is about to */

static __attribute__((noinline)) void keep(void)
{
	pthread_mutex_lock(&lock);
	taking = 0;
	sem_post(&held);
	await_asleep(&taking);
	burn_ms(HELD_MS);
	pthread_mutex_unlock(&lock);
	__asm__ volatile("" ::: "memory"); /* no tail call, here and below */
}

static __attribute__((noinline)) void take(void)
{
	taking = gettid();
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	__asm__ volatile("" ::: "memory");
}

static void *keeper(void *argument)
{
	for (int i = 0; i < ROUNDS; i++) {
		keep();
		sem_wait(&taken);
	}
	return argument;
}

static void *taker(void *argument)
{
	for (int i = 0; i < ROUNDS; i++) {
		sem_wait(&held);
		take();
		sem_post(&taken);
	}
	return argument;
}

int main(void)
{
	pthread_t thread[2];

	sem_init(&held, 0, 0);
	sem_init(&taken, 0, 0);
	pthread_create(&thread[0], NULL, keeper, NULL);
	pthread_create(&thread[1], NULL, taker, NULL);
	pthread_join(thread[0], NULL);
	pthread_join(thread[1], NULL);
	puts("done");
	return 0;
}
