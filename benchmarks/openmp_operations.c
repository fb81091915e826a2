/* SPDX-License-Identifier: MIT */
/*
 * benchmarks/openmp_operations.c - nanoseconds per operation of libgomp, whoever is preloaded
 *
 *	openmp_operations NAME COUNT     print ns per operation: the least of batches; no NAME: list them
 *
 * The functions are called as gcc calls them, by one thread or a team of two. There is no work in
 * between: these are the worst cases. The least, as other work on the machine can only add to it.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCHES 40u

void omp_set_lock(void *lock);
void omp_unset_lock(void *lock);
void GOMP_critical_start(void);
void GOMP_critical_end(void);
void GOMP_barrier(void);
void GOMP_parallel(void (*f)(void *), void *data, unsigned threads, unsigned flags);
void GOMP_task(void (*f)(void *), void *data, void (*copy)(void *, void *), long size, long align,
	       bool deferred, unsigned flags, void **depend, int priority, void *detach);
void GOMP_taskwait(void);

static void nothing(void *data)
{
	(void)data;
}

static void locks(unsigned long n)
{
	static uint64_t lock[2]; /* of libgomp: zeros are an unlocked one */

	while (n--) {
		omp_set_lock(lock);
		omp_unset_lock(lock);
	}
}

static void criticals(unsigned long n)
{
	while (n--) {
		GOMP_critical_start();
		GOMP_critical_end();
	}
}

static void regions_alone(unsigned long n)
{
	while (n--)
		GOMP_parallel(nothing, NULL, 1, 0);
}

static void regions(unsigned long n)
{
	while (n--)
		GOMP_parallel(nothing, NULL, 2, 0);
}

static void meet(void *count)
{
	for (unsigned long n = *(unsigned long *)count; n--;)
		GOMP_barrier();
}

static void barriers(unsigned long n)
{
	GOMP_parallel(meet, &n, 2, 0);
}

static void make_tasks(void *count)
{
	for (unsigned long n = *(unsigned long *)count; n--;) {
		GOMP_task(nothing, NULL, NULL, 0, 1, true, 0, NULL, 0, NULL);
		if (!(n % 32))
			GOMP_taskwait();
	}
}

static void tasks(unsigned long n)
{
	GOMP_parallel(make_tasks, &n, 1, 0);
}

static const struct {
	const char *name;
	void (*run)(unsigned long n);
} operations[] = {
	{ "lock", locks },     { "critical", criticals }, { "region-alone", regions_alone },
	{ "region", regions }, { "barrier", barriers },	  { "task", tasks },
};

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double least(void (*once)(unsigned long n), unsigned long n)
{
	double found = 0, begun, took;

	for (unsigned i = 0; i <= BATCHES; i++) { /* the first is a rehearsal */
		begun = now_ns();
		once(n);
		took = (now_ns() - begun) / (double)n;
		if (i == 1 || (i && took < found))
			found = took;
	}
	return found;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++) {
		if (argc < 2) {
			puts(operations[i].name);
		} else if (!strcmp(argv[1], operations[i].name)) {
			printf("%.1f\n", least(operations[i].run, count / BATCHES + 1));
			return 0;
		}
	}
	return argc < 2 ? 0 : 2;
}
