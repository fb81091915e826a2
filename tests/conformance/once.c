/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/once.c - pthread_once: races, nesting, cancellation inside, fork inside
 */
#include <sys/wait.h>

#include "tests/conformance/case.h"

static pthread_once_t controls[8];
static volatile int counts[8], entered, attempts;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void slow(void)
{
	sleep_ms(10);
	pthread_mutex_lock(&m);
	counts[0]++;
	pthread_mutex_unlock(&m);
}

static void *call_slow(void *argument)
{
	int ret = pthread_once(&controls[0], slow);

	(void)argument;
	return (void *)(intptr_t)(ret * 100 + counts[0]);
}

static void third(void)
{
	counts[3]++;
}

static void second(void)
{
	pthread_once(&controls[3], third);
	counts[2]++;
	pthread_once(&controls[3], third);
}

static void first(void)
{
	pthread_once(&controls[2], second);
	counts[1]++;
}

/* The first to run it is cancelled inside; the next one runs it again. */
static void cancellable(void)
{
	attempts++;
	set(&entered, attempts);
	if (attempts == 1)
		for (;;)
			sleep_ms(1000);
	counts[4]++;
}

static void *call_cancellable(void *argument)
{
	(void)argument;
	return (void *)(intptr_t)(pthread_once(&controls[4], cancellable) + 1);
}

static void exits(void)
{
	attempts++;
	if (attempts == 1)
		pthread_exit((void *)9);
	counts[5]++;
}

static void *call_exits(void *argument)
{
	(void)argument;
	return (void *)(intptr_t)pthread_once(&controls[5], exits);
}

static void forks(void)
{
	pid_t child = fork();

	counts[6]++;
	if (!child) {
		pthread_once(&controls[3], third);
		_exit(counts[3]);
	}
	waitpid(child, NULL, 0);
}

int main(void)
{
	pthread_t t[8], waiter;
	void *result;

	begin("many at once");
	for (int i = 0; i < 8; i++)
		must(!pthread_create(&t[i], NULL, call_slow, NULL), "pthread_create");
	for (int i = 0; i < 8; i++) {
		pthread_join(t[i], &result);
		add(" %ld", (long)(intptr_t)result);
	}
	end();

	begin("nested");
	DO("once", pthread_once(&controls[1], first));
	DO("again", pthread_once(&controls[1], first));
	DO("inner", pthread_once(&controls[2], second));
	add(" %d %d %d", counts[1], counts[2], counts[3]);
	end();

	begin("cancelled inside");
	must(!pthread_create(&t[0], NULL, call_cancellable, NULL), "pthread_create");
	await(&entered, 1);
	must(!pthread_create(&waiter, NULL, call_cancellable, NULL), "pthread_create");
	sleep_ms(5);
	DO("cancel", pthread_cancel(t[0]));
	DO("join", pthread_join(t[0], &result));
	add(" %s", result == PTHREAD_CANCELED ? "cancelled" : "ran");
	DO("join", pthread_join(waiter, &result));
	add(" %ld attempts=%d count=%d", (long)(intptr_t)result, attempts, counts[4]);
	DO("again", pthread_once(&controls[4], cancellable));
	add(" attempts=%d", attempts);
	end();

	begin("exit inside");
	attempts = 0;
	must(!pthread_create(&t[0], NULL, call_exits, NULL), "pthread_create");
	pthread_join(t[0], &result);
	add(" %ld", (long)(intptr_t)result);
	DO("once", pthread_once(&controls[5], exits));
	add(" attempts=%d count=%d", attempts, counts[5]);
	end();

	begin("fork inside");
	DO("once", pthread_once(&controls[6], forks));
	add(" count=%d", counts[6]);
	end();
	return 0;
}
