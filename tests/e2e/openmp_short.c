/* SPDX-License-Identifier: MIT */
/* tests/e2e/openmp_short.c - `openmp_short TIMES STEPS`: a region TIMES times, in which each thread takes STEPS steps */
#include <stdlib.h>

static volatile long sum;

int main(int argc, char **argv)
{
	long times = argc > 2 ? atol(argv[1]) : 0, steps = times ? atol(argv[2]) : 0;

	for (long i = 0; i < times; i++) {
#pragma omp parallel
		for (long k = 0; k < steps; k++)
			sum = k;
	}
	return 0;
}
