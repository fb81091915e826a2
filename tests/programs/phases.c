/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/phases.c - three phases, one after the other, each of a thread of its own
 *
 *	phases [MS]    how long each is, default 900
 *
 * The first takes a lock all the time; the second sleeps; the third computes and meets no event at
 * all until it ends. A fourth thread waits from the beginning to the end. Each phase begins at a
 * mark.
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "preload/cpa.h"
#include "tests/programs/burn.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, waiting = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t over = PTHREAD_COND_INITIALIZER;
static int is_over;

static void *first_phase(void *ms)
{
	for (int i = 0; i < *(int *)ms; i += 3) {
		pthread_mutex_lock(&lock);
		burn_ms(3);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void *second_phase(void *ms)
{
	const struct timespec a_while = { .tv_nsec = 9000000 };

	for (int i = 0; i < *(int *)ms; i += 9)
		nanosleep(&a_while, NULL);
	return NULL;
}

static void *third_phase(void *ms)
{
	burn_ms(*(int *)ms);
	return NULL;
}

static void *waiter(void *none)
{
	(void)none;
	pthread_mutex_lock(&waiting);
	while (!is_over)
		pthread_cond_wait(&over, &waiting);
	pthread_mutex_unlock(&waiting);
	return NULL;
}

int main(int argc, char **argv)
{
	static void *(*const phases[])(void *) = { first_phase, second_phase, third_phase };
	int ms = argc > 1 ? atoi(argv[1]) : 900;
	pthread_t idle, phase;

	pthread_create(&idle, NULL, waiter, NULL);
	for (int i = 0; i < 3; i++) {
		CPA_MARK("phase");
		pthread_create(&phase, NULL, phases[i], &ms);
		pthread_join(phase, NULL);
	}
	pthread_mutex_lock(&waiting);
	is_over = 1;
	pthread_cond_signal(&over);
	pthread_mutex_unlock(&waiting);
	pthread_join(idle, NULL);
	return 0;
}
