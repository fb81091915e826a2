/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/named_locks.c - CPA_LOCK_NAME() of locks of every kind
 *
 * Prints nothing; tests/e2e/annotations.py counts what the report has of each name.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <threads.h>

#include "preload/cpa.h"

#define SHARDS 6

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, late = PTHREAD_MUTEX_INITIALIZER;

static void use(pthread_mutex_t *mutex, int times)
{
	while (times--) {
		pthread_mutex_lock(mutex);
		pthread_mutex_unlock(mutex);
	}
}

/* Locks that are initialized at one place: without names they are one class. */
static void use_shards(pthread_mutex_t *shard)
{
	for (int i = 0; i < SHARDS; i++) {
		pthread_mutex_init(&shard[i], NULL);
		CPA_LOCK_NAME(&shard[i], i % 2 ? "odd shards" : "even shards");
		use(&shard[i], 10 + i % 2);
	}
	for (int i = 0; i < SHARDS; i++)
		pthread_mutex_destroy(&shard[i]);
	/* The name ends with the lock. */
	pthread_mutex_init(&shard[0], NULL);
	use(&shard[0], 5);
	pthread_mutex_destroy(&shard[0]);
}

static void use_others(void)
{
	pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
	pthread_spinlock_t spin;
	pthread_mutexattr_t shared;
	pthread_mutex_t between;
	sem_t sem;

	CPA_LOCK_NAME(&rwlock, "a rwlock");
	pthread_rwlock_wrlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	CPA_LOCK_NAME(&spin, "a spin lock");
	pthread_spin_lock(&spin);
	pthread_spin_unlock(&spin);
	sem_init(&sem, 0, 1);
	CPA_LOCK_NAME(&sem, "a semaphore");
	sem_wait(&sem);
	sem_post(&sem);
	pthread_mutexattr_init(&shared);
	pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&between, &shared);
	CPA_LOCK_NAME(&between, "between processes");
	use(&between, 3);
	pthread_mutex_destroy(&between);
}

/* Nothing about a lock is in its memory before it is initialized. */
static void use_uncleared(void)
{
	mtx_t *mutex = mmap(NULL, sizeof(*mutex), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (mutex == MAP_FAILED)
		exit(1);
	memset(mutex, 0xff, sizeof(*mutex));
	mtx_init(mutex, mtx_plain);
	CPA_LOCK_NAME(mutex, "a C11 mutex");
	for (int i = 0; i < 3; i++) {
		mtx_lock(mutex);
		mtx_unlock(mutex);
	}
	mtx_destroy(mutex);
}

int main(void)
{
	pthread_mutex_t *shard = malloc(SHARDS * sizeof(*shard));

	if (!shard)
		return 1;
	CPA_LOCK_NAME(&plain, "a plain mutex");
	use(&plain, 7);
	use(&late, 1);
	CPA_LOCK_NAME(&late, "too late");
	use(&late, 1);
	use_shards(shard);
	use_others();
	use_uncleared();
	CPA_LOCK_NAME(NULL, "nothing");
	CPA_LOCK_NAME(shard, NULL);
	free(shard);
	return 0;
}
