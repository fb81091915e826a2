/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/locks_between.c - most work is before a lock that goes untimed, the rest behind the last one
 *
 *	locks_between mutex | read
 *
 * Each round posts and takes a semaphore, which is timed. Then nine_parts() runs nine times, each time before a lock
 * that nobody else uses, and one_part(), which takes as long, once behind them: 90 and 10 % of the CPU time.
 */
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <time.h>

#define PARTS	  9u
#define TURNS	  300u
#define CPU_S	  2
#define PER_CHECK 1000u /* rounds between two looks at the clock */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t own;
static int reads;
static volatile unsigned sink;

static inline __attribute__((always_inline)) void turns(unsigned start)
{
	unsigned value = start;

	for (unsigned i = 0; i < TURNS; i++)
		value = value * 1664525u + 1013904223u;
	sink = value;
}

static __attribute__((noinline)) void nine_parts(void)
{
	turns(1);
}

static __attribute__((noinline)) void one_part(void)
{
	turns(2);
}

static void use_lock(void)
{
	if (reads) {
		pthread_rwlock_rdlock(&rwlock);
		pthread_rwlock_unlock(&rwlock);
	} else {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
}

static time_t cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec;
}

static void *work(void *argument)
{
	for (unsigned i = 0; i % PER_CHECK || cpu_s() < CPU_S; i++) {
		sem_post(&own);
		sem_wait(&own);
		for (unsigned k = 0; k < PARTS; k++) {
			nine_parts();
			use_lock();
		}
		one_part();
	}
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 2)
		return 2;
	reads = !strcmp(argv[1], "read");
	sem_init(&own, 0, 0);
	if (pthread_create(&thread, NULL, work, NULL))
		return 1;
	pthread_join(thread, NULL);
	return 0;
}
