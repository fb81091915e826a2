/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/same_again.c - the same again and again, for MS
 *
 *	same_again turns MS      two threads work in turn, 20 ms each
 *	same_again lock MS       two threads compute, and meet at a lock
 *	same_again poll MS       a thread computes; main is idle in poll() for 150 ms at a time
 *	same_again brief MS      two threads compute for 100 ms, without an event, and two others follow
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/programs/burn.h"

#define THREADS	 2
#define TURN_MS	 20
#define CROWD_MS 2
#define IDLE_MS	 150
#define BRIEF_MS 100

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static unsigned turn;
static int64_t until_ns;

static int is_over(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec >= until_ns;
}

static __attribute__((noinline)) void work(int ms)
{
	burn_ms(ms);
	__asm__ volatile("");
}

static void *turn_worker(void *number)
{
	unsigned me = number != NULL;

	while (!is_over()) {
		pthread_mutex_lock(&mutex);
		while (turn % THREADS != me)
			pthread_cond_wait(&cond, &mutex);
		pthread_mutex_unlock(&mutex);
		work(TURN_MS);
		pthread_mutex_lock(&mutex);
		turn++;
		pthread_cond_broadcast(&cond);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void *lock_worker(void *unused)
{
	while (!is_over()) {
		work(CROWD_MS);
		pthread_mutex_lock(&mutex);
		work(1);
		pthread_mutex_unlock(&mutex);
	}
	return unused;
}

static void *poll_worker(void *unused)
{
	while (!is_over()) {
		work(1);
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	return unused;
}

static void *brief_worker(void *unused)
{
	work(BRIEF_MS);
	return unused;
}

static void run(void *(*worker)(void *), int idle)
{
	pthread_t thread[THREADS];

	for (unsigned i = 0; i < THREADS - (unsigned)idle; i++)
		pthread_create(&thread[i], NULL, worker, i ? &turn : NULL);
	while (idle && !is_over())
		poll(NULL, 0, IDLE_MS);
	for (unsigned i = 0; i < THREADS - (unsigned)idle; i++)
		pthread_join(thread[i], NULL);
}

int main(int argc, char **argv)
{
	struct timespec now;

	if (argc != 3) {
		fprintf(stderr, "usage: same_again turns|lock|poll|brief MS\n");
		return 2;
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	until_ns =
		now.tv_sec * INT64_C(1000000000) + now.tv_nsec + atoi(argv[2]) * INT64_C(1000000);
	if (!strcmp(argv[1], "turns"))
		run(turn_worker, 0);
	else if (!strcmp(argv[1], "lock"))
		run(lock_worker, 0);
	else if (!strcmp(argv[1], "poll"))
		run(poll_worker, 1);
	else
		while (!is_over())
			run(brief_worker, 0);
	return 0;
}
