/* SPDX-License-Identifier: MIT */
/*
 * tests/accuracy/tasks.c - tasks of OpenMP of a given shape
 *
 * `tasks SHAPE THREADS` runs them. Work is multiplications: its time says how fast the processor was, so only
 * shares of it can be compared.
 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define UNIT 150000L /* multiplications, about 200 us */
#define GRID 8

static void work(long units)
{
	unsigned long x = 1;

	for (long i = 0; i < units * UNIT; i++) {
		x *= 0x9e3779b97f4a7c15;
		__asm__ volatile("" : "+r"(x));
	}
}

/* From small to large, so that the last ones matter. */
static void unequal(void)
{
#pragma omp single
	for (int i = 0; i < 60; i++) {
#pragma omp task
		work(1 + i / 4);
	}
}

/* Each task waits for two of its own. */
static void node(int depth)
{
	if (depth == 0) {
		work(6);
		return;
	}
#pragma omp task
	node(depth - 1);
#pragma omp task
	node(depth > 1 ? depth - 2 : 0);
#pragma omp taskwait
	work(2);
}

static void tree(void)
{
#pragma omp single
	node(8);
}

/* A grid in which each task depends on its neighbours above and on the left. */
static void wavefront(void)
{
	static char cell[GRID + 1][GRID + 1];

	(void)cell;
#pragma omp single
	for (int i = 1; i <= GRID; i++) {
		for (int j = 1; j <= GRID; j++) {
#pragma omp task depend(in : cell[i - 1][j], cell[i][j - 1]) depend(out : cell[i][j])
			work(6);
		}
	}
}

/* One long task beside many short ones. */
static void chain(void)
{
#pragma omp single
	{
#pragma omp task
		work(120);
#pragma omp taskloop grainsize(1)
		for (int i = 0; i < 60; i++)
			work(4);
	}
}

/* A part that one thread does alone, and a loop. */
static void serial(void)
{
#pragma omp single
	work(100);
#pragma omp for schedule(static)
	for (int i = 0; i < 240; i++)
		work(1);
}

static const struct {
	const char *name;
	void (*run)(void);
} shapes[] = {
	{ "unequal", unequal }, { "tree", tree },     { "wavefront", wavefront },
	{ "chain", chain },	{ "serial", serial },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < sizeof(shapes) / sizeof(*shapes); i++) {
		if (strcmp(shapes[i].name, argv[1]) != 0)
			continue;
#pragma omp parallel num_threads(atoi(argv[2]))
		shapes[i].run();
		return 0;
	}
	return 2;
}
