/* SPDX-License-Identifier: MIT */
/*
 * tests/e2e/openmp_waits.c - OpenMP programs with a long wait that ends by nothing the profiler can name
 *
 * `openmp_waits CASE`: of a team of two, one waits for as long as the other sleeps, and then makes a task that
 * the other runs behind its own part. So all that comes after the wait depends on the thread that waited.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SLEEP_NS 50000000

static _Atomic int begun, runs;

static void sleeps(void)
{
	struct timespec t = { 0, SLEEP_NS };

	nanosleep(&t, NULL);
}

static void await(const _Atomic int *flag)
{
	while (!*flag)
		;
}

/* The other thread does not take a task before it has come to the barrier. */
static void hand_over(void)
{
#pragma omp task
	runs = 1;
	await(&runs);
}

/* A wait for the seventh of thirteen variables: a task is known by the first six at most. */
static void many_depends(void)
{
	char v[13];

	(void)v;
#pragma omp parallel num_threads(2)
#pragma omp master
	{
#pragma omp task depend(out : v[6])
		{
			begun = 1;
			sleeps();
		}
		await(&begun);
#pragma omp taskwait depend(in                                          \
			    : v[0], v[1], v[2], v[3], v[4], v[5], v[6]) \
	depend(in                                                       \
	       : v[7], v[8], v[9], v[10], v[11], v[12])
		hand_over();
	}
}

/* An iteration that does not say that it is done: the next one of its thread does. libgomp only. */
static void later_source(void)
{
#pragma omp parallel for ordered(1) schedule(static, 2) num_threads(2)
	for (int i = 0; i < 4; i++) {
		if (i == 1) {
			await(&begun);
			sleeps();
#pragma omp ordered depend(source)
		} else if (i == 2) {
			begun = 1;
#pragma omp ordered depend(sink : i - 2)
			hand_over();
		}
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "many_depends"))
		many_depends();
	else if (argc == 2 && !strcmp(argv[1], "later_source"))
		later_source();
	else
		puts("many_depends\nlater_source");
	return 0;
}
