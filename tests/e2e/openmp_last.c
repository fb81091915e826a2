/* SPDX-License-Identifier: MIT */
/* tests/e2e/openmp_last.c - one short region of two threads, then work of one thread to the end */
#include <omp.h>

static void work(long rounds)
{
	for (long i = 0; i < rounds; i++)
		__asm__ volatile("" : : "r"(i));
}

int main(void)
{
	omp_set_num_threads(2);
#pragma omp parallel
	work(100000000);
	work(1000000000);
	return 0;
}
