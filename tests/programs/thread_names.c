/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/thread_names.c - threads named by themselves, by prctl() and by their creator; one
 * whose start cpa cannot see
 *
 * The last is made by the pthread_create of libc itself, as jemalloc makes its own threads. After
 * CPA_THREADS_KEPT threads rows are used again: "reused" has no name, whatever the row had. "consumer" has one
 * more row then, and is the only one that takes what main put into a queue.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "preload/cpa.h"
#include "shadow/format/layout.h"
#include "tests/programs/burn.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void work(void)
{
	pthread_mutex_lock(&lock);
	burn_ms(2);
	pthread_mutex_unlock(&lock);
}

static void *by_itself(void *argument)
{
	pthread_setname_np(pthread_self(), "fifteen letters");
	work();
	return argument;
}

static void *by_prctl(void *argument)
{
	prctl(PR_SET_NAME, "longer than fifteen letters");
	work();
	return argument;
}

static void *by_creator(void *argument)
{
	work();
	return argument;
}

static void *unseen(void *argument)
{
	work();
	return argument;
}

static void *named(void *argument)
{
	pthread_setname_np(pthread_self(), "former user");
	return argument;
}

static void *reused(void *argument)
{
	return argument;
}

static void *consumer(void *argument)
{
	CPA_DEQUEUE(&lock, 1);
	CPA_ITEM_DONE(&lock, 1);
	return argument;
}

static void run(void *(*routine)(void *), const char *name)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, routine, NULL))
		return;
	if (name)
		pthread_setname_np(thread, name);
	pthread_join(thread, NULL);
}

int main(void)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY);
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	char name[16] = "";
	pthread_t thread;

	pthread_mutex_lock(&lock);
	if (pthread_create(&thread, NULL, by_creator, NULL))
		return 1;
	/* It waits for the lock, so that it is there. */
	if (pthread_setname_np(thread, "of its creator") ||
	    !pthread_setname_np(thread, "longer than fifteen letters"))
		return 1;
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	run(by_itself, NULL);
	run(by_prctl, NULL);
	*(void **)&create = libc ? dlsym(libc, "pthread_create") : NULL;
	if (!create || create(&thread, NULL, unseen, NULL))
		return 1;
	pthread_join(thread, NULL);
	for (unsigned i = 0; i < CPA_THREADS_KEPT + 8; i++)
		run(i % 2 ? reused : named, NULL);
	CPA_QUEUE_NAME(&lock, "items");
	CPA_ENQUEUE(&lock, 1);
	run(consumer, NULL);
	pthread_setname_np(pthread_self(), "first");
	prctl(PR_GET_NAME, name);
	return strcmp(name, "first") != 0;
}
