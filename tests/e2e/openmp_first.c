/* SPDX-License-Identifier: MIT */
/*
 * tests/e2e/openmp_first.c - `openmp_first N`: N children, in each of which both threads of a new team come
 * to its first barrier at once
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 2

static void region(void)
{
	static int here; /* atomic */

#pragma omp parallel num_threads(THREADS)
	{
		__atomic_add_fetch(&here, 1, __ATOMIC_SEQ_CST);
		while (__atomic_load_n(&here, __ATOMIC_SEQ_CST) < THREADS)
			;
#pragma omp barrier
#pragma omp barrier
	}
}

int main(int argc, char **argv)
{
	int status = 0, bad = 0;

	for (int i = argc == 2 ? atoi(argv[1]) : 1; i; i--) {
		pid_t child = fork();

		if (!child) {
			region();
			_exit(0);
		}
		bad |= waitpid(child, &status, 0) != child || status;
	}
	return bad;
}
