/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/library.c - a library that locks and makes threads when it is loaded
 *
 * Built as library.so. Preloaded after libcpa.so its constructor runs first; loaded by loader.c it
 * comes and goes.
 */
#include "tests/conformance/case.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static volatile int count;

static void routine(void)
{
	count += 100;
}

static void *work(void *argument)
{
	for (int i = 0; i < 10; i++) {
		pthread_mutex_lock(&m);
		count++;
		pthread_mutex_unlock(&m);
	}
	return argument;
}

int library_work(int threads);
int library_work(int threads)
{
	pthread_t t[8];
	sem_t s;

	for (int i = 0; i < threads; i++)
		must(!pthread_create(&t[i], NULL, work, NULL), "pthread_create");
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	sem_init(&s, 0, 1);
	sem_wait(&s);
	sem_post(&s);
	sem_destroy(&s);
	pthread_once(&once, routine);
	return count;
}

static __attribute__((constructor)) void load(void)
{
	begin("constructor");
	errno = UNTOUCHED;
	add(" count=%d", library_work(3));
	end();
}

static __attribute__((destructor)) void unload(void)
{
	begin("destructor");
	add(" count=%d", library_work(2));
	end();
}
