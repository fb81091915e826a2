/* SPDX-License-Identifier: MIT */
/*
 * benchmarks/changed_pool.c - a task pool made of a mutex and a condition, which cpa is not told of
 *
 *	changed_pool [tasks=300] [workers=2] [prepare=1] [finish=1]
 *
 * The main thread prepares tasks and puts them into the pool, workers finish them. prepare, finish:
 * factors of their work.
 */
#include "benchmarks/changed.h"

#include <pthread.h>
#include <stdbool.h>

#define PREPARE	    1000
#define FINISH	    2600
#define WORKERS_MAX 64

static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;
	unsigned put, taken;
	bool ended;
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER };
static double prepare_factor, finish_factor;

__attribute__((noinline)) static void prepare(unsigned task)
{
	WORK(varied(task, PREPARE) * prepare_factor);
}

__attribute__((noinline)) static void finish(unsigned task)
{
	WORK(varied(task + 1, FINISH) * finish_factor);
}

static void *worker(void *unused)
{
	for (;;) {
		unsigned task = 0;

		pthread_mutex_lock(&pool.lock);
		while (pool.put == pool.taken && !pool.ended)
			pthread_cond_wait(&pool.more, &pool.lock);
		if (pool.put > pool.taken)
			task = ++pool.taken;
		pthread_mutex_unlock(&pool.lock);
		if (!task)
			return unused;
		finish(task);
	}
}

int main(int argc, char **argv)
{
	unsigned tasks = (unsigned)option(argc, argv, "tasks", 300);
	unsigned workers = (unsigned)option(argc, argv, "workers", 2);
	pthread_t thread[WORKERS_MAX];

	prepare_factor = option(argc, argv, "prepare", 1);
	finish_factor = option(argc, argv, "finish", 1);
	if (workers > WORKERS_MAX)
		return 1;
	for (unsigned i = 0; i < workers; i++)
		pthread_create(&thread[i], NULL, worker, NULL);
	for (unsigned i = 1; i <= tasks; i++) {
		prepare(i);
		pthread_mutex_lock(&pool.lock);
		pool.put++;
		pthread_cond_signal(&pool.more);
		pthread_mutex_unlock(&pool.lock);
	}
	pthread_mutex_lock(&pool.lock);
	pool.ended = true;
	pthread_cond_broadcast(&pool.more);
	pthread_mutex_unlock(&pool.lock);
	for (unsigned i = 0; i < workers; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
