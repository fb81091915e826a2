/* SPDX-License-Identifier: MIT */
/*
 * examples/loop.c - a loop of OpenMP whose iterations are not alike
 *
 * Four threads divide 32 iterations evenly among them, eight each, for three times. Each of the first
 * eight takes 6 units, each of the others 1. Before each loop the program does 4 units alone.
 *
 * Critical path: 3 x (4 + 8 x 6) = 156 units. In each loop the threads do 48 + 3 x 8 = 72 units, 18 each
 * if they were balanced: the path would be 3 x (4 + 18) = 66 units.
 */
#include "examples/work.h"

#define TIMES	   3
#define ITERATIONS 32
#define THREADS	   4

int main(void)
{
	for (int t = 0; t < TIMES; t++) {
		work(4);
#pragma omp parallel for num_threads(THREADS) schedule(static)
		for (int i = 0; i < ITERATIONS; i++)
			work(i < ITERATIONS / THREADS ? 6 : 1);
	}
	return 0;
}
