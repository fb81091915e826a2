/* SPDX-License-Identifier: MIT */
/*
 * The profile stops in a region. What the region's threads had on their stacks is then used for other
 * data, while the program calls OpenMP outside of any region.
 *
 * Then it stops in a task. What the thread does later is not that task's.
 */
#include <stdio.h>
#include <time.h>

#include "preload/cpa.h"

static __attribute__((noinline)) int other_data(void)
{
	volatile char data[4096];
	int changed = 0;

	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = 0;
#pragma omp barrier
	for (unsigned i = 0; i < sizeof(data); i++)
		changed += data[i] != 0;
	return changed;
}

#define WORK_NS 100000000

static void work(void)
{
	struct timespec begun, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - begun.tv_sec) * 1000000000L + now.tv_nsec - begun.tv_nsec < WORK_NS);
}

static __attribute__((noinline)) void stops_in_task(void)
{
#pragma omp parallel num_threads(1)
	{
#pragma omp task if (0)
		CPA_STOP();
		CPA_START();
#pragma omp task if (0)
		__asm__ volatile("");
		work();
	}
}

int main(void)
{
	int changed = 0;

#pragma omp parallel num_threads(2)
	{
#pragma omp barrier
#pragma omp master
		CPA_STOP();
#pragma omp barrier
	}
	changed += other_data();
	CPA_START();
	changed += other_data();
#pragma omp parallel num_threads(2)
	{
#pragma omp barrier
	} stops_in_task();
	printf("%d bytes changed\n", changed);
	return 0;
}
