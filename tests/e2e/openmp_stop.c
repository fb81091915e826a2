/* SPDX-License-Identifier: MIT */
/*
 * The profile stops in a region. What the region's threads had on their stacks is then used for other
 * data, while the program calls OpenMP outside of any region.
 */
#include <stdio.h>

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
	} printf("%d bytes changed\n", changed);
	return 0;
}
