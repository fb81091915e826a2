/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/held_before.c - a part of the run begins while a lock is held
 *
 * "main": by the thread that begins the part. "worker": by another one, which ended the part before,
 * and whose first operation in this one is the unlock. Nearly all of its work is done under the lock.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "preload/cpa.h"
#include "tests/programs/burn.h"

#define WORK_MS 30

static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int step;

static void await(int wanted)
{
	const struct timespec pause = { .tv_nsec = 100000 };

	while (atomic_load(&step) < wanted)
		nanosleep(&pause, NULL);
}

/* Between the steps and the unlock there is no operation that cpa sees. */
static void *worker(void *unused)
{
	pthread_mutex_lock(&held_lock);
	pthread_mutex_unlock(&held_lock);
	CPA_STOP();
	pthread_mutex_lock(&held_lock);
	atomic_store(&step, 1);
	while (atomic_load(&step) < 2)
		;
	burn_ms(WORK_MS);
	pthread_mutex_unlock(&held_lock);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc == 2 && strcmp(argv[1], "main") == 0) {
		pthread_mutex_lock(&held_lock);
		CPA_START();
		burn_ms(WORK_MS);
		pthread_mutex_unlock(&held_lock);
		CPA_STOP();
		return 0;
	}
	CPA_START();
	pthread_create(&thread, NULL, worker, NULL);
	await(1);
	CPA_START();
	atomic_store(&step, 2);
	pthread_join(thread, NULL);
	CPA_STOP();
	return 0;
}
