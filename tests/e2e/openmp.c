/* SPDX-License-Identifier: MIT */
/*
 * tests/e2e/openmp.c - OpenMP programs whose paths follow from the work that they ask for
 *
 * `openmp CASE THREADS` runs one and prints, in microseconds, the work of all threads and the longest
 * chain of it, as the constructs order it. Nothing is inferred from timing.
 */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define UNIT_US 2000L

static _Atomic long asked_us;
static int n; /* threads of a team */

/* So much CPU time of the thread, in the function itself. */
__attribute__((noinline)) static void work(long units)
{
	struct timespec t;
	long now, end;

	asked_us += units * UNIT_US;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	end = t.tv_sec * 1000000000 + t.tv_nsec + units * UNIT_US * 1000;
	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		now = t.tv_sec * 1000000000 + t.tv_nsec;
	} while (now < end);
}

/* Each case returns its path in units. */
static long balanced(void)
{
	for (int i = 0; i < 3; i++) {
#pragma omp parallel num_threads(n)
		work(5);
		work(2);
	}
	return 3 * (5 + 2);
}

static long imbalanced(void)
{
#pragma omp parallel num_threads(n)
	work(omp_get_thread_num() == n - 1 ? 20 : 4);
	return 20;
}

/* The same, divided evenly. */
static long evened(void)
{
#pragma omp parallel num_threads(n)
	work((20 + 4 * (n - 1)) / n);
	return (20 + 4 * (n - 1)) / n;
}

/* As much work whatever the number of threads. */
static long divided(void)
{
	for (int i = 0; i < 3; i++) {
#pragma omp parallel num_threads(n)
		work(12 / n);
		work(1);
	}
	return 3 * (12 / n + 1);
}

/* At each barrier another thread is the last. */
static long rotating(void)
{
#pragma omp parallel num_threads(n)
	for (int i = 0; i < 6; i++) {
		work(omp_get_thread_num() == i % n ? 6 : 1);
#pragma omp barrier
	}
	return 6 * 6;
}

static long critical(void)
{
#pragma omp parallel num_threads(n)
	for (int i = 0; i < 4; i++) {
#pragma omp critical
		work(2);
#pragma omp critical(named)
		work(1);
	}
	return n * 4 * 2;
}

static omp_lock_t lock;
static omp_nest_lock_t nest_lock;

static long locks(void)
{
	omp_init_lock(&lock);
	omp_init_nest_lock(&nest_lock);
#pragma omp parallel num_threads(n)
	for (int i = 0; i < 4; i++) {
		omp_set_lock(&lock);
		work(2);
		omp_unset_lock(&lock);
		omp_set_nest_lock(&nest_lock);
		omp_set_nest_lock(&nest_lock);
		work(1);
		omp_unset_nest_lock(&nest_lock);
		omp_unset_nest_lock(&nest_lock);
	}
	omp_destroy_lock(&lock);
	omp_destroy_nest_lock(&nest_lock);
	return n * 4 * 2;
}

/* All iterations one after the other, and the last one's rest. */
static long ordered(void)
{
#pragma omp parallel for ordered schedule(dynamic, 1) num_threads(n)
	for (int i = 0; i < 8; i++) {
		work(1);
#pragma omp ordered
		work(3);
	}
	return 1 + 8 * 3;
}

/* A chain through all iterations. */
static long doacross(void)
{
#pragma omp parallel for ordered(1) schedule(static, 1) num_threads(n)
	for (int i = 0; i < 8; i++) {
		work(2);
#pragma omp ordered depend(sink : i - 1)
		work(3);
#pragma omp ordered depend(source)
		work(1);
	}
	return 2 + 8 * 3 + 1;
}

/* Each waits for its neighbours, so the path is a row and a column. */
static long wavefront(void)
{
#pragma omp parallel for ordered(2) schedule(static, 1) num_threads(n)
	for (int i = 0; i < n; i++) {
		for (int j = 0; j < 6; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
			work(2);
#pragma omp ordered depend(source)
		}
	}
	return (n + 6 - 1) * 2;
}

/* The iterations that one thread runs are at least its part of all. */
static long dynamic(void)
{
#pragma omp parallel for schedule(dynamic, 1) num_threads(n)
	for (int i = 0; i < 24; i++)
		work(2);
	return 24 * 2 / n;
}

static long loops(void)
{
#pragma omp parallel num_threads(n)
	{
#pragma omp for schedule(static)
		for (int i = 0; i < n; i++)
			work(i ? 1 : 8);
#pragma omp for schedule(guided)
		for (int i = 0; i < n; i++)
			work(2);
#pragma omp for schedule(dynamic) nowait
		for (int i = 0; i < n; i++)
			work(1);
	}
	return 8 + 2 + 1;
}

static long single(void)
{
	long value = 0;

#pragma omp parallel num_threads(n) firstprivate(value)
	{
#pragma omp single
		work(10);
#pragma omp single copyprivate(value)
		{
			work(4);
			value = 1;
		}
		work(value);
	}
	return 10 + 4 + 1;
}

static long sections(void)
{
#pragma omp parallel sections num_threads(n)
	{
#pragma omp section
		work(12);
#pragma omp section
		work(5);
	}
	return 12;
}

static long tasks(void)
{
#pragma omp parallel num_threads(n)
#pragma omp single
	{
#pragma omp task
		work(20);
		for (int i = 0; i < 4; i++) {
#pragma omp task
			work(3);
		}
#pragma omp taskwait
		work(2);
	}
	return 20 + 2;
}

/* Tasks that only the barrier waits for, made by a task. */
static long in_barrier(void)
{
#pragma omp parallel num_threads(n)
	{
#pragma omp single nowait
		{
#pragma omp task
			{
				work(3);
#pragma omp task
				work(9);
				work(2);
			}
		}
#pragma omp barrier
		work(2);
	}
	return 3 + 9 + 2;
}

static long taskgroup(void)
{
#pragma omp parallel num_threads(n)
#pragma omp single
	{
#pragma omp taskgroup
		{
#pragma omp task
			{
#pragma omp task
				work(8);
				work(2);
			}
		}
		work(3);
	}
	return 8 + 3;
}

static long depend(void)
{
	int x = 0, y = 0;

	(void)x, (void)y;
#pragma omp parallel num_threads(n)
#pragma omp single
	{
#pragma omp task depend(out : x)
		work(3);
#pragma omp task depend(in : x) depend(out : y)
		work(8);
#pragma omp task depend(in : x)
		work(4);
#pragma omp task depend(inout : x) depend(in : y)
		work(3);
	}
	return 3 + 8 + 3;
}

/* A wait for some tasks. */
static long wait_depend(void)
{
	int x = 0;

	(void)x;
#pragma omp parallel num_threads(n)
#pragma omp single
	{
#pragma omp task depend(out : x)
		work(8);
#pragma omp task
		work(3);
#pragma omp taskwait depend(in : x)
		work(6);
	}
	return 8 + 6;
}

/* Dependences that objects hold. */
static long depend_objects(void)
{
	int x = 0;
	omp_depend_t in, out;

	(void)x, (void)&in, (void)&out;
#pragma omp depobj(in) depend(in : x)
#pragma omp depobj(out) depend(out : x)
#pragma omp parallel num_threads(n)
#pragma omp single
	{
#pragma omp task depend(depobj : out)
		work(3);
#pragma omp task depend(depobj : in)
		work(8);
#pragma omp task depend(depobj : in)
		work(4);
#pragma omp task depend(depobj : out)
		work(3);
	}
#pragma omp depobj(in) destroy
#pragma omp depobj(out) destroy
	return 3 + 8 + 3;
}

/* A task that another one ends, before that ends itself. */
static long detach(void)
{
	omp_event_handle_t event = { 0 };
	int x = 0;

	(void)x;
#pragma omp parallel num_threads(n)
#pragma omp single
	{
#pragma omp task depend(out : x) detach(event)
		work(1);
#pragma omp task
		{
			work(8);
			omp_fulfill_event(event);
			work(6);
		}
#pragma omp task depend(in : x)
		work(9);
	}
	return 8 + 9;
}

static long taskloop(void)
{
#pragma omp parallel num_threads(n)
#pragma omp single
	{
#pragma omp taskloop grainsize(1)
		for (int i = 0; i < 6; i++)
			work(i ? 2 : 9);
		work(2);
	}
	return 9 + 2;
}

static void await(const _Atomic int *flag)
{
	struct timespec nap = { 0, 1000000 };

	while (!*flag)
		nanosleep(&nap, NULL);
}

/* Two tasks of one loop at once, with a child each: the one waits for its own when the other's has ended. */
static long loop_children(void)
{
	static _Atomic int begun, ended;

#pragma omp parallel num_threads(n)
#pragma omp single
#pragma omp taskloop grainsize(1)
	for (int i = 0; i < 2; i++) {
		if (i) {
			await(&begun);
#pragma omp task if (0)
			work(40);
			ended = 1;
		} else {
			begun = 1;
			await(&ended);
#pragma omp task if (0)
			work(1);
#pragma omp taskwait
			work(30);
		}
	}
	return 40;
}

/* A task that is not deferred is work of its maker. */
static long undeferred(void)
{
#pragma omp parallel num_threads(n)
#pragma omp single
	for (int i = 0; i < 3; i++) {
#pragma omp task if (0)
		work(4);
	}
	return 3 * 4;
}

static long nested(void)
{
	omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
	{
#pragma omp parallel num_threads(n)
		work(omp_get_thread_num() ? 3 : 6);
		work(2);
	}
	return 6 + 2;
}

/* The number of threads changes from region to region. */
static long changing(void)
{
	for (int i = 1; i <= n; i++) {
#pragma omp parallel num_threads(i)
		{
			work(omp_get_thread_num() ? 1 : 3);
#pragma omp barrier
			work(1);
		}
	}
	return n * (3 + 1);
}

static void *region(void *argument)
{
	(void)argument;
#pragma omp parallel num_threads(2)
	work(omp_get_thread_num() ? 8 : 4);
	return NULL;
}

/* Two masters at once. */
static long threads(void)
{
	pthread_t thread[8];

	for (int i = 0; i < n; i++)
		pthread_create(&thread[i], NULL, region, NULL);
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	work(2);
	return 8 + 2;
}

static const struct {
	const char *name;
	long (*run)(void);
} cases[] = {
	{ "balanced", balanced },
	{ "imbalanced", imbalanced },
	{ "evened", evened },
	{ "divided", divided },
	{ "rotating", rotating },
	{ "critical", critical },
	{ "locks", locks },
	{ "ordered", ordered },
	{ "dynamic", dynamic },
	{ "loops", loops },
	{ "single", single },
	{ "sections", sections },
	{ "tasks", tasks },
	{ "in_barrier", in_barrier },
	{ "taskgroup", taskgroup },
	{ "depend", depend },
	{ "doacross", doacross },
	{ "wavefront", wavefront },
	{ "taskloop", taskloop },
	{ "loop_children", loop_children },
	{ "undeferred", undeferred },
	{ "nested", nested },
	{ "changing", changing },
	{ "threads", threads },
	{ "wait_depend", wait_depend },
	{ "depend_objects", depend_objects },
	{ "detach", detach },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < sizeof(cases) / sizeof(*cases); i++) {
		long path;

		if (strcmp(cases[i].name, argv[1]) != 0)
			continue;
		n = (int)strtol(argv[2], NULL, 10);
		path = cases[i].run();
		printf("{\"path_us\": %ld, \"asked_us\": %ld}\n", path * UNIT_US, asked_us);
		return 0;
	}
	if (argc != 1)
		return 2;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		puts(cases[i].name);
	return 0;
}
