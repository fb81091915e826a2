/* SPDX-License-Identifier: MIT */
/*
 * tests/e2e/openmp_spin.c - threads of a team that wait, by spinning if OMP_WAIT_POLICY says so
 *
 * `openmp_spin THREADS`: in each region the master alone works, and so it does between two regions. Prints the
 * CPU time, in seconds, of the process at the begin of main(), of that work, and of the process at the end.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define REGIONS 6
#define WORK_S	0.015

static double cpu(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double work(void)
{
	double begun = cpu(CLOCK_THREAD_CPUTIME_ID), now;

	do
		now = cpu(CLOCK_THREAD_CPUTIME_ID);
	while (now - begun < WORK_S);
	return now - begun;
}

int main(int argc, char **argv)
{
	double start = cpu(CLOCK_PROCESS_CPUTIME_ID), worked = 0;

	for (int i = 0; argc == 2 && i < REGIONS; i++) {
#pragma omp parallel num_threads(atoi(argv[1]))
		if (omp_get_thread_num() == 0)
			worked += work();
		worked += work();
	}
	printf("%.6f %.6f %.6f\n", start, worked, cpu(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
