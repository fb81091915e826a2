/* SPDX-License-Identifier: MIT */
/*
 * tests/e2e/openmp_cancelled.c - tasks of a taskgroup that is cancelled before they begin: none of them runs
 *
 *	openmp_cancelled ROUNDS KIND	with OMP_CANCELLATION=true; TASKS in each round. Prints how many ran.
 *
 * KIND: made: they are made after that; queued: before, and the thread that made them runs one, which cancels the
 * others; loops: each is a taskloop, made after that; group: they are those of a taskloop, of which one cancels the
 * others; region: of a region that is cancelled, at whose end they are found.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TASKS 10

static int ran;

static void begin(void)
{
#pragma omp atomic
	ran++;
}

static void cancel(void)
{
#pragma omp task if (0)
	{
#pragma omp cancel taskgroup
	}
}

static void made(void)
{
#pragma omp taskgroup
	{
		cancel();
		for (int i = 0; i < TASKS; i++) {
#pragma omp task
			begin();
		}
	}
}

static void queued(void)
{
#pragma omp taskgroup
	for (int i = 0; i < TASKS; i++) {
#pragma omp task
		{
			begin();
#pragma omp cancel taskgroup
		}
	}
}

static void loops(void)
{
#pragma omp taskgroup
	{
		cancel();
		for (int i = 0; i < TASKS; i++) {
#pragma omp taskloop nogroup num_tasks(4)
			for (int n = 0; n < 8; n++)
				begin();
		}
	}
}

static void group(void)
{
#pragma omp taskloop num_tasks(TASKS)
	for (int i = 0; i < TASKS; i++) {
		begin();
#pragma omp cancel taskgroup
	}
}

/* Who makes the tasks cancels the region, and finds them behind its body. */
static void region(void)
{
#pragma omp parallel num_threads(2)
	{
		if (omp_get_thread_num() == 0) {
			for (int i = 0; i < TASKS; i++) {
#pragma omp task
				begin();
			}
		}
#pragma omp cancel parallel
	}
}

static const struct {
	const char *name;
	void (*run)(void);
	int threads;
} kinds[] = { { "made", made, 2 },
	      { "queued", queued, 1 },
	      { "loops", loops, 2 },
	      { "group", group, 1 },
	      { "region", region, 1 } };

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;

	for (size_t k = 0; argc > 2 && k < sizeof(kinds) / sizeof(*kinds); k++) {
		if (strcmp(argv[2], kinds[k].name) != 0)
			continue;
#pragma omp parallel num_threads(kinds[k].threads)
#pragma omp single
		for (int i = 0; i < rounds; i++)
			kinds[k].run();
	}
	printf("%d\n", ran);
	return 0;
}
