/* SPDX-License-Identifier: MIT */
/* A program without OpenMP that asks whether it is there. */
#include <stdio.h>

#pragma weak GOMP_parallel
void GOMP_parallel(void (*f)(void *), void *data, unsigned threads, unsigned flags);

static void work(void *data)
{
	++*(int *)data;
}

int main(void)
{
	int worked = 0;

	if (GOMP_parallel)
		GOMP_parallel(work, &worked, 0, 0);
	else
		work(&worked);
	printf("%d\n", worked);
	return 0;
}
