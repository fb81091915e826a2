/* SPDX-License-Identifier: MIT */
/*
 * tests/e2e/openmp_copied.c - a taskloop of very many tasks, whose data a function copies: they fill the stack
 *
 *	openmp_copied TASKS	Prints their number.
 */
#include <stdio.h>
#include <stdlib.h>

struct data {
	long number[4];
};

int main(int argc, char **argv)
{
	int tasks = argc > 1 ? atoi(argv[1]) : 1;
	struct data data = { { 0, 1 } };
	long sum = 0;

#pragma omp parallel num_threads(2)
#pragma omp single
#pragma omp taskloop grainsize(1) firstprivate(data) shared(sum)
	for (int i = 0; i < tasks; i++) {
#pragma omp atomic
		sum += data.number[1];
	}
	printf("%ld\n", sum);
	return 0;
}
