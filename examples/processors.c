/* SPDX-License-Identifier: MIT */
/*
 * examples/processors.c - more work at a time than there are processors
 *
 * Four threads for each processor do 30 units each, and wait for nobody.
 *
 * Critical path: 30 units. On the processors that there are the run takes 4 x 30 = 120 units, four
 * times as long.
 */
#include "examples/work.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define THREADS 4 /* for each processor */

__attribute__((noinline)) static void render(void)
{
	work(30);
}

static void *worker(void *unused)
{
	render();
	return unused;
}

int main(void)
{
	cpu_set_t set;
	int threads = THREADS * (sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set));
	pthread_t *thread = malloc((size_t)threads * sizeof(*thread));

	if (!thread)
		return 1;
	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, worker, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	free(thread);
	return 0;
}
