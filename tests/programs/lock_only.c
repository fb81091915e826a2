/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/lock_only.c - a thread that computes, and one that takes its lock in between
 *
 * The latter does nothing else. Where it finds the lock taken it can block, or wait for the
 * microsecond or less that a section takes. Prints how often it blocked, and how many sections
 * there were.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>

#define SECTIONS 50000
#define APART	 20000 /* turns of a loop */
#define INSIDE	 2000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t begun;
static atomic_bool done;
static long blocked;

static void turn(long turns)
{
	for (long i = 0; i < turns; i++)
		__asm__ volatile("" : : "r"(i));
}

static void *locker(void *arg)
{
	struct rusage usage;

	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	pthread_barrier_wait(&begun);
	while (!done) {
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
	}
	getrusage(RUSAGE_THREAD, &usage);
	blocked = usage.ru_nvcsw;
	return arg;
}

int main(void)
{
	pthread_t thread;

	pthread_barrier_init(&begun, NULL, 2);
	pthread_create(&thread, NULL, locker, NULL);
	pthread_barrier_wait(&begun);
	for (int i = 0; i < SECTIONS; i++) {
		turn(APART);
		pthread_mutex_lock(&lock);
		turn(INSIDE);
		pthread_mutex_unlock(&lock);
	}
	done = true;
	pthread_join(thread, NULL);
	printf("{\"blocked\": %ld, \"sections\": %d}\n", blocked, SECTIONS);
	return 0;
}
