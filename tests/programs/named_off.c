/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/named_off.c - threads of one start routine that are named while profiling is off: by themselves, by
 * another one, before the first part that they are in, and between two parts, where another one's name is the later
 * one. Run it with CPA_START=off.
 */
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/cpa.h"
#include "tests/programs/burn.h"

#define THREADS 5

static const char *const names[THREADS] = { "left-1", "left-2", "right", "first", NULL };
static pthread_barrier_t barrier;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A child of vfork() has a name of its own. */
static void name_child(void)
{
	pid_t child = vfork();

	if (!child) {
		prctl(PR_SET_NAME, "child");
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void part(void)
{
	pthread_barrier_wait(&barrier); /* main begins the part */
	pthread_barrier_wait(&barrier);
	burn_ms(20);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	pthread_barrier_wait(&barrier); /* main ends it */
	pthread_barrier_wait(&barrier);
}

static void *routine(void *argument)
{
	const char *name = argument;

	if (name)
		pthread_setname_np(pthread_self(), name);
	if (name && !strcmp(name, "right"))
		name_child();
	part();
	if (name && !strcmp(name, "first"))
		pthread_setname_np(pthread_self(), "second");
	part();
	if (name && !strcmp(name, "first"))
		pthread_setname_np(pthread_self(), "third");
	part(); /* main names that thread while it waits */
	return NULL;
}

int main(void)
{
	pthread_t thread[THREADS];

	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (unsigned i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, routine, (void *)names[i]))
			return 1;
	if (pthread_setname_np(thread[THREADS - 1], "by another"))
		return 1;
	for (unsigned i = 0; i < 3; i++) {
		pthread_barrier_wait(&barrier);
		CPA_START();
		if (i == 2 && pthread_setname_np(thread[3], "fourth"))
			return 1;
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		CPA_STOP();
		pthread_barrier_wait(&barrier);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
