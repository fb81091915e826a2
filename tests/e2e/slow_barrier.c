/* SPDX-License-Identifier: MIT */
/*
 * tests/e2e/slow_barrier.c - a thread has its first samples while it is in a wait that nobody ends
 *
 * As a program: threads one after another, each alone at its barrier. As a library between cpa and the
 * C library (-DLIBRARY): a pthread_barrier_wait() that works for some time before it returns. So each
 * thread is at its barrier when the profiler changes its sampler, which takes time of its own.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#define THREADS 40
#define WORK_NS 12000000 /* three periods of the timer */

#ifdef LIBRARY
int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	int (*original)(pthread_barrier_t *) =
		(int (*)(pthread_barrier_t *))dlsym(RTLD_NEXT, "pthread_barrier_wait");
	struct timespec cpu = { 0 };

	while (cpu.tv_nsec < WORK_NS)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	return original(barrier);
}
#else
static void *meets(void *barrier)
{
	pthread_barrier_wait(barrier);
	return NULL;
}

int main(void)
{
	pthread_barrier_t barrier;
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 1);
	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&thread, NULL, meets, &barrier))
			return 1;
		pthread_join(thread, NULL);
	}
	return 0;
}
#endif
