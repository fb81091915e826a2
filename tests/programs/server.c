/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/server.c - serves until its input ends, for whoever watches it
 *
 * A clerk puts a request into a queue each 20 ms, two tellers take them and book them one at a
 * time, a guard waits all day. It prints "closed" and returns 3.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "preload/cpa.h"
#include "tests/programs/burn.h"

#define DEPTH	   8
#define PER_MARK   25
#define PERIOD_NS  20000000
#define PREPARE_MS 1
#define BOOK_MS	   2

static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled, drained;
	long item[DEPTH];
	unsigned first, count;
	bool closed;
} counter = { .lock = PTHREAD_MUTEX_INITIALIZER,
	      .filled = PTHREAD_COND_INITIALIZER,
	      .drained = PTHREAD_COND_INITIALIZER };

static pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t night = PTHREAD_COND_INITIALIZER;
static bool dark;

static void *clerk(void *argument)
{
	for (long number = 1;; number++) {
		nanosleep(&(struct timespec){ .tv_nsec = PERIOD_NS }, NULL);
		burn_ms(PREPARE_MS);
		if (number % PER_MARK == 0)
			CPA_MARK("another page");
		pthread_mutex_lock(&counter.lock);
		while (counter.count == DEPTH && !counter.closed)
			pthread_cond_wait(&counter.drained, &counter.lock);
		if (counter.closed)
			break;
		counter.item[(counter.first + counter.count++) % DEPTH] = number;
		CPA_ENQUEUE(&counter, number);
		pthread_cond_signal(&counter.filled);
		pthread_mutex_unlock(&counter.lock);
	}
	pthread_mutex_unlock(&counter.lock);
	return argument;
}

static void book(void)
{
	pthread_mutex_lock(&ledger);
	burn_ms(BOOK_MS);
	pthread_mutex_unlock(&ledger);
}

static void *teller(void *argument)
{
	for (;;) {
		long item;

		pthread_mutex_lock(&counter.lock);
		while (counter.count == 0 && !counter.closed)
			pthread_cond_wait(&counter.filled, &counter.lock);
		if (counter.closed)
			break;
		item = counter.item[counter.first];
		counter.first = (counter.first + 1) % DEPTH;
		counter.count--;
		CPA_DEQUEUE(&counter, item);
		pthread_cond_signal(&counter.drained);
		pthread_mutex_unlock(&counter.lock);
		book();
		CPA_ITEM_DONE(&counter, item);
	}
	pthread_mutex_unlock(&counter.lock);
	return argument;
}

static void *guard(void *argument)
{
	pthread_mutex_lock(&gate);
	while (!dark)
		pthread_cond_wait(&night, &gate);
	pthread_mutex_unlock(&gate);
	return argument;
}

static void close_counter(void)
{
	pthread_mutex_lock(&counter.lock);
	counter.closed = true;
	pthread_cond_broadcast(&counter.filled);
	pthread_cond_broadcast(&counter.drained);
	pthread_mutex_unlock(&counter.lock);
	pthread_mutex_lock(&gate);
	dark = true;
	pthread_cond_broadcast(&night);
	pthread_mutex_unlock(&gate);
}

int main(void)
{
	void *(*const roles[])(void *) = { clerk, teller, teller, guard };
	pthread_t thread[4];
	char byte;

	CPA_QUEUE_NAME(&counter, "requests");
	CPA_QUEUE_LOCK(&counter, &counter.lock);
	CPA_MARK("opened");
	for (unsigned i = 0; i < 4; i++)
		if (pthread_create(&thread[i], NULL, roles[i], NULL))
			return 1;
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	close_counter();
	for (unsigned i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	puts("closed");
	return 3;
}
