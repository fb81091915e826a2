/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/every_table.c ITEMS - threads with a lock, a queue and a pipe, the same all the time
 *
 * A maker puts items into a queue, a taker works on them and writes a byte for each into a pipe, from
 * which a reader takes it. The maker and the taker also work under one lock, and under those of an array. What they do takes random
 * times, always of the same distribution. So each table of the report has a row.
 */
#include "preload/cpa.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define ROOM  4	   /* items in the queue */
#define SPINS 2000 /* some microsecond */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t change;
	unsigned put, taken; /* items so far */
	bool done;
} tasks = { .lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER };

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER, bank[2];
static int bytes[2];
static unsigned items;

/*
 * For microseconds from 0 to twice @mean. @which: else the compiler would make one function of all callers.
 */
__attribute__((always_inline)) static inline void spin(unsigned short *random, double mean,
						       int which)
{
	unsigned long spins = (unsigned long)(2 * mean * SPINS * erand48(random));

	__asm__ volatile("" : : "i"(which));
	for (unsigned long i = 0; i < spins; i++)
		__asm__ volatile("" : : "r"(i));
}

__attribute__((noinline)) static void make(unsigned short *random)
{
	spin(random, 500, 0);
}

__attribute__((noinline)) static void process(unsigned short *random)
{
	spin(random, 500, 1);
}

__attribute__((noinline)) static void answer(unsigned short *random)
{
	spin(random, 300, 2);
}

__attribute__((noinline)) static void use_shared(unsigned short *random)
{
	pthread_mutex_lock(&shared);
	spin(random, 300, 3);
	pthread_mutex_unlock(&shared);
}

__attribute__((noinline)) static void use_bank(unsigned short *random)
{
	pthread_mutex_t *lock = &bank[erand48(random) < 0.5];

	pthread_mutex_lock(lock);
	spin(random, 300, 4);
	pthread_mutex_unlock(lock);
}

/* @last: no more follow. */
static void put(bool last)
{
	pthread_mutex_lock(&tasks.lock);
	while (tasks.put - tasks.taken == ROOM)
		pthread_cond_wait(&tasks.change, &tasks.lock);
	if (!last) {
		CPA_ENQUEUE(&tasks, (uintptr_t)tasks.put + 1);
		tasks.put++;
	}
	tasks.done = last;
	pthread_cond_broadcast(&tasks.change);
	pthread_mutex_unlock(&tasks.lock);
}

/* Return the number of an item; 0: there are no more. */
static unsigned take(void)
{
	unsigned item = 0;

	pthread_mutex_lock(&tasks.lock);
	while (tasks.put == tasks.taken && !tasks.done)
		pthread_cond_wait(&tasks.change, &tasks.lock);
	if (tasks.put != tasks.taken) {
		item = ++tasks.taken;
		CPA_DEQUEUE(&tasks, (uintptr_t)item);
	}
	pthread_cond_broadcast(&tasks.change);
	pthread_mutex_unlock(&tasks.lock);
	return item;
}

static void *maker(void *unused)
{
	unsigned short random[3] = { 1 };

	while (tasks.put < items) {
		make(random);
		use_shared(random);
		use_bank(random);
		put(false);
	}
	put(true);
	return unused;
}

static void *taker(void *unused)
{
	unsigned short random[3] = { 2 };
	unsigned item;

	while ((item = take())) {
		process(random);
		CPA_ITEM_DONE(&tasks, (uintptr_t)item);
		use_shared(random);
		use_bank(random);
		if (write(bytes[1], "", 1) != 1)
			abort();
	}
	close(bytes[1]);
	return unused;
}

static void *reader(void *unused)
{
	unsigned short random[3] = { 3 };
	char byte;

	while (read(bytes[0], &byte, 1) == 1)
		answer(random);
	return unused;
}

int main(int argc, char **argv)
{
	void *(*const routine[])(void *) = { maker, taker, reader };
	pthread_t thread[3];

	if (argc != 2 || pipe(bytes) < 0)
		return 2;
	CPA_QUEUE_NAME(&tasks, "tasks");
	CPA_QUEUE_LOCK(&tasks, &tasks.lock);
	items = (unsigned)atol(argv[1]);
	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, routine[i], NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
