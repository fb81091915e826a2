/* SPDX-License-Identifier: MIT */
/*
 * A program without OpenMP that asks whether it is there, and does without if not.
 *
 * It has threads of its own. What it prints does not depend on whether it finds the functions.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#define THREADS 4
#define ROUNDS	2000 /* on a busy machine a thread may wait long for its turn */

#pragma weak GOMP_parallel
#pragma weak GOMP_barrier
#pragma weak GOMP_task
#pragma weak GOMP_taskwait
#pragma weak GOMP_taskloop
#pragma weak GOMP_critical_start
#pragma weak GOMP_critical_end
#pragma weak GOMP_critical_name_start
#pragma weak GOMP_critical_name_end
#pragma weak omp_init_lock
#pragma weak omp_set_lock
#pragma weak omp_test_lock
#pragma weak omp_unset_lock
#pragma weak omp_init_nest_lock
#pragma weak omp_set_nest_lock
#pragma weak omp_test_nest_lock
#pragma weak omp_unset_nest_lock
void GOMP_parallel(void (*f)(void *), void *data, unsigned threads, unsigned flags);
void GOMP_barrier(void);
void GOMP_task(void (*f)(void *), void *data, void (*copy)(void *, void *), long size, long align,
	       _Bool deferred, unsigned flags, void **depend, int priority, void *detach);
void GOMP_taskwait(void);
void GOMP_taskloop(void (*f)(void *), void *data, void (*copy)(void *, void *), long size,
		   long align, unsigned flags, unsigned long tasks, int priority, long start,
		   long end, long step);
void GOMP_critical_start(void);
void GOMP_critical_end(void);
void GOMP_critical_name_start(void **name);
void GOMP_critical_name_end(void **name);
void omp_init_lock(int *lock);
void omp_set_lock(int *lock);
int omp_test_lock(int *lock);
void omp_unset_lock(int *lock);
void omp_init_nest_lock(void *lock);
void omp_set_nest_lock(void *lock);
int omp_test_nest_lock(void *lock);
void omp_unset_nest_lock(void *lock);

static int lock;
static long nest[2];
static void *named;
static long counts[4];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void work(void *data)
{
	++*(int *)data;
	if (GOMP_barrier)
		GOMP_barrier();
	++*(int *)data;
}

struct task {
	int *sum, copied;
	_Alignas(64) int value;
};

static void copy(void *to, void *from)
{
	*(struct task *)to = *(struct task *)from;
	((struct task *)to)->copied++;
}

static void task(void *data)
{
	struct task *t = data;

	*t->sum += t->value + t->copied + ((unsigned long)t % 64 ? 1000 : 0);
}

struct loop {
	long from, to;
	long *sum;
};

static void loop(void *data)
{
	struct loop *l = data;

	for (long i = l->from; i < l->to; i += 3)
		*l->sum += i;
}

/* In several steps, between which another thread may run. */
static void count(volatile long *n, int round)
{
	long was = *n;

	if (round % 16 == 0)
		sched_yield();
	*n = was + 1;
}

static void *threads(void *argument)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (omp_set_lock) {
			if (i % 2)
				omp_set_lock(&lock);
			else
				while (!omp_test_lock(&lock))
					;
			counts[0]++;
			omp_unset_lock(&lock);
			omp_set_nest_lock(nest);
			counts[1] += omp_test_nest_lock(nest) == 2;
			omp_unset_nest_lock(nest);
			omp_unset_nest_lock(nest);
			GOMP_critical_start();
			count(&counts[2], i);
			GOMP_critical_end();
			GOMP_critical_name_start(&named);
			count(&counts[3], i);
			GOMP_critical_name_end(&named);
			continue;
		}
		pthread_mutex_lock(&mutex);
		for (int j = 0; j < 4; j++)
			counts[j]++;
		pthread_mutex_unlock(&mutex);
	}
	return argument;
}

int main(void)
{
	int worked = 0, sum = 0;
	long looped = 0;
	struct task t = { .sum = &sum, .copied = 0, .value = 5 };
	struct loop l = { 2, 20, &looped };
	pthread_t thread[THREADS];

	if (GOMP_parallel)
		GOMP_parallel(work, &worked, 0, 0);
	else
		work(&worked);
	if (GOMP_task) {
		GOMP_task(task, &t, copy, sizeof(t), 64, 1, 0, NULL, 0, NULL);
		GOMP_task(task, &t, NULL, sizeof(t), 64, 1, 0, NULL, 0, NULL);
		GOMP_taskwait();
		GOMP_taskloop(loop, &l, NULL, sizeof(l), 8, 1u << 8, 0, 0, 2, 20, 3);
	} else {
		sum += 2 * t.value + 1;
		loop(&l);
	}
	if (omp_init_lock) {
		lock = -1;
		nest[0] = -1;
		omp_init_lock(&lock);
		omp_init_nest_lock(nest);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, threads, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%d %d %ld %ld %ld %ld %ld\n", worked, sum, looped, counts[0], counts[1], counts[2],
	       counts[3]);
	return 0;
}
