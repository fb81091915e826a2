/* SPDX-License-Identifier: MIT */
/*
 * tests/e2e/openmp_old.c - parallel regions and a task as compilers of before gcc 4.9 made them
 *
 * Each way to begin a region, and a task of all iterations. Prints how often each iteration was done: once by each.
 */
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>

typedef void body(void *data);

void GOMP_parallel_start(body *f, void *data, unsigned threads);
void GOMP_parallel_sections_start(body *f, void *data, unsigned threads, unsigned count);
void GOMP_parallel_loop_dynamic_start(body *f, void *data, unsigned threads, long start, long end,
				      long step, long chunk);
void GOMP_parallel_loop_guided_start(body *f, void *data, unsigned threads, long start, long end,
				     long step, long chunk);
void GOMP_parallel_loop_runtime_start(body *f, void *data, unsigned threads, long start, long end,
				      long step);
void GOMP_parallel_end(void);
bool GOMP_loop_dynamic_next(long *start, long *end);
bool GOMP_loop_guided_next(long *start, long *end);
bool GOMP_loop_runtime_next(long *start, long *end);
void GOMP_loop_end_nowait(void);
void GOMP_task(body *f, void *data, void (*copy)(void *to, void *from), long size, long align,
	       bool deferred, unsigned flags, ...);
unsigned GOMP_sections_next(void);
void GOMP_sections_end_nowait(void);

#define THREADS	   2
#define ITERATIONS 8

static int done[ITERATIONS];

static void run(long start, long end)
{
	for (long i = start; i < end; i++)
		__atomic_fetch_add(&done[i], 1, __ATOMIC_RELAXED);
}

static void plain(void *data)
{
	long own = ITERATIONS / THREADS * omp_get_thread_num();

	(void)data;
	run(own, own + ITERATIONS / THREADS);
}

static void sections(void *data)
{
	unsigned section;

	(void)data;
	while ((section = GOMP_sections_next()))
		run(section - 1, section);
	GOMP_sections_end_nowait();
}

#define LOOP(name)                                            \
	static void name(void *data)                          \
	{                                                     \
		long start, end;                              \
                                                              \
		(void)data;                                   \
		while (GOMP_loop_##name##_next(&start, &end)) \
			run(start, end);                      \
		GOMP_loop_end_nowait();                       \
	}

LOOP(dynamic)
LOOP(guided)
LOOP(runtime)

static void finish(body *f)
{
	f(NULL);
	GOMP_parallel_end();
}

static void all(void *data)
{
	(void)data;
	run(0, ITERATIONS);
}

int main(void)
{
	void *other =
		(void *)1; /* is no list of dependences: such a program passes nothing there */
	long data = 0;

	GOMP_task(all, &data, NULL, sizeof(data), sizeof(data), true, 0, other);
	GOMP_parallel_start(plain, NULL, THREADS);
	finish(plain);
	GOMP_parallel_sections_start(sections, NULL, THREADS, ITERATIONS);
	finish(sections);
	GOMP_parallel_loop_dynamic_start(dynamic, NULL, THREADS, 0, ITERATIONS, 1, 1);
	finish(dynamic);
	GOMP_parallel_loop_guided_start(guided, NULL, THREADS, 0, ITERATIONS, 1, 1);
	finish(guided);
	GOMP_parallel_loop_runtime_start(runtime, NULL, THREADS, 0, ITERATIONS, 1);
	finish(runtime);
	for (int i = 0; i < ITERATIONS; i++)
		printf("%d ", done[i]);
	return 0;
}
