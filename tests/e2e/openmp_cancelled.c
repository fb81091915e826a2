/* SPDX-License-Identifier: MIT */
/*
 * tests/e2e/openmp_cancelled.c - make tasks of a taskgroup that is cancelled: none of them runs
 *
 *	openmp_cancelled ROUNDS	with OMP_CANCELLATION=true; TASKS in each. Prints how many ran.
 */
#include <stdio.h>
#include <stdlib.h>

#define TASKS 10

static int ran;

static void round_once(void)
{
#pragma omp taskgroup
	{
#pragma omp task if (0)
		{
#pragma omp cancel taskgroup
		}
		for (int i = 0; i < TASKS; i++) {
#pragma omp task
#pragma omp atomic
			ran++;
		}
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;

#pragma omp parallel num_threads(2)
#pragma omp single
	for (int i = 0; i < rounds; i++)
		round_once();
	printf("%d\n", ran);
	return 0;
}
