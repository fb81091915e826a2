/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/first_uses.c - two threads use a lock for the first time at once, LOCKS times
 *
 * Each reads each lock once, on a processor of its own if there are two. The locks have static initializers,
 * so no initialization is seen.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define LOCKS	500
#define THREADS 2

static pthread_rwlock_t *lock;
static int here; /* atomic: arrivals at all locks */

/* Without any call that cpa sees. */
static void meet(int at)
{
	__atomic_add_fetch(&here, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&here, __ATOMIC_SEQ_CST) < (at + 1) * THREADS)
		;
}

/* Run on processor number @wanted of those that the thread may use. */
static void move(int wanted)
{
	cpu_set_t all, one;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(all), &all))
		return;
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all) && wanted-- == 0)
			CPU_SET(i, &one);
	sched_setaffinity(0, sizeof(one), &one); /* or, if there are fewer, where it is */
}

static void *use(void *second)
{
	move(second != NULL);
	for (int i = 0; i < LOCKS; i++) {
		meet(i);
		pthread_rwlock_rdlock(&lock[i]);
		pthread_rwlock_unlock(&lock[i]);
	}
	return second;
}

int main(void)
{
	pthread_t other;

	lock = calloc(LOCKS, sizeof(*lock));
	if (!lock)
		return 1;
	for (int i = 0; i < LOCKS; i++)
		lock[i] = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
	pthread_create(&other, NULL, use, lock);
	use(NULL);
	pthread_join(other, NULL);
	free(lock);
	return 0;
}
