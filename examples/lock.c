/* SPDX-License-Identifier: MIT */
/*
 * examples/lock.c - the lock with much work under it, and the lock that does not matter
 *
 * Four threads each do 20 rounds: 1 unit of parse() by themselves, 4 units of insert() under
 * table_lock, then 1 unit of count() under stats_lock.
 *
 * All sections of table_lock are in series: 4 x 20 x 4 = 320 units, which is nearly the whole
 * critical path. Without them the sections of stats_lock are what remains in series: 80 units and
 * little more. Without those of stats_lock the path is still 320 units.
 */
#include "examples/work.h"

#include <pthread.h>

#define THREADS 4
#define ROUNDS	20

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t stats_lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void parse(void)
{
	work(1);
}

__attribute__((noinline)) static void insert(void)
{
	work(4);
}

__attribute__((noinline)) static void count(void)
{
	work(1);
}

static void *worker(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		parse();
		pthread_mutex_lock(&table_lock);
		insert();
		pthread_mutex_unlock(&table_lock);
		pthread_mutex_lock(&stats_lock);
		count();
		pthread_mutex_unlock(&stats_lock);
	}
	return unused;
}

int main(void)
{
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, worker, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
