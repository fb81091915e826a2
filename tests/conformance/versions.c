/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/versions.c - functions of which glibc keeps an older version that differs
 *
 * A program that was linked long ago is bound to pthread_cond_wait@GLIBC_2.2.5, whose
 * pthread_cond_t holds a pointer to memory of its own. As ever the one is not to be mixed with the
 * other. The old pthread_kill() tells of a thread that has ended, the old quick_exit() runs the
 * destructors of thread-local objects.
 */
#include <signal.h>

#include "tests/conformance/case.h"

#define OLDER(type, name, parameters, version) \
	type old_##name parameters;            \
	__asm__(".symver old_" #name ", pthread_" #name "@" version)

OLDER(int, cond_init, (pthread_cond_t *, const pthread_condattr_t *), "GLIBC_2.2.5");
OLDER(int, cond_destroy, (pthread_cond_t *), "GLIBC_2.2.5");
OLDER(int, cond_wait, (pthread_cond_t *, pthread_mutex_t *), "GLIBC_2.2.5");
OLDER(int, cond_timedwait, (pthread_cond_t *, pthread_mutex_t *, const struct timespec *),
      "GLIBC_2.2.5");
OLDER(int, cond_signal, (pthread_cond_t *), "GLIBC_2.2.5");
OLDER(int, cond_broadcast, (pthread_cond_t *), "GLIBC_2.2.5");
OLDER(int, kill, (pthread_t, int), "GLIBC_2.2.5");

void old_quick_exit(int status);
__asm__(".symver old_quick_exit, quick_exit@GLIBC_2.10");

extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
extern void *__dso_handle;

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t static_cond; /* all zero, as its initializer was */
static volatile int waiting, woken;

static void *wait_once(void *cond)
{
	int ret;

	pthread_mutex_lock(&m);
	waiting++;
	while (!woken)
		if ((ret = old_cond_wait(cond, &m)))
			return (void *)(intptr_t)ret;
	waiting--;
	pthread_mutex_unlock(&m);
	return NULL;
}

static void unlock(void *argument)
{
	(void)argument;
	pthread_mutex_unlock(&m);
}

static void *wait_cancelled(void *cond)
{
	pthread_mutex_lock(&m);
	waiting++;
	pthread_cleanup_push(unlock, NULL);
	for (;;)
		old_cond_wait(cond, &m);
	pthread_cleanup_pop(1);
	return NULL;
}

static void until_waiting(int count)
{
	for (;;) {
		int now;

		pthread_mutex_lock(&m);
		now = waiting;
		pthread_mutex_unlock(&m);
		if (now == count)
			return;
		sched_yield();
	}
}

static void wake(const char *name, pthread_cond_t *cond, int threads)
{
	pthread_t t[8];
	void *result;

	begin("%s: %d", name, threads);
	waiting = woken = 0;
	for (int i = 0; i < threads; i++)
		must(!pthread_create(&t[i], NULL, wait_once, cond), "pthread_create");
	until_waiting(threads);
	pthread_mutex_lock(&m);
	woken = 1;
	DO("wakes", threads == 1 ? old_cond_signal(cond) : old_cond_broadcast(cond));
	pthread_mutex_unlock(&m);
	for (int i = 0; i < threads; i++) {
		must(!pthread_join(t[i], &result), "pthread_join");
		add(" %ld", (long)result);
	}
	end();
}

static void timed(pthread_cond_t *cond)
{
	for (int when = 0; when < WHENS; when++) {
		struct timespec t = at(when, CLOCK_REALTIME);

		if (when == FAR)
			continue;
		begin("timed wait, %s", when_names[when]);
		pthread_mutex_lock(&m);
		DO("returns", old_cond_timedwait(cond, &m, &t));
		DO("unlock", pthread_mutex_unlock(&m));
		end();
	}
}

static void cancelled(pthread_cond_t *cond)
{
	pthread_t t;
	void *result;

	begin("cancelled");
	waiting = 0;
	must(!pthread_create(&t, NULL, wait_cancelled, cond), "pthread_create");
	until_waiting(1);
	DO("cancel", pthread_cancel(t));
	DO("join", pthread_join(t, &result));
	DO("is cancelled", result == PTHREAD_CANCELED);
	DO("mutex", pthread_mutex_trylock(&m));
	pthread_mutex_unlock(&m);
	end();
}

static void conditions(const char *name, pthread_cond_t *cond)
{
	begin("%s: nobody waits", name);
	DO("signal", old_cond_signal(cond));
	DO("broadcast", old_cond_broadcast(cond));
	end();
	for (int i = 0; i < 20; i++)
		wake(name, cond, i % 5 + 1);
	timed(cond);
	cancelled(cond);
	wake(name, cond, 3);
	begin("%s: is one pointer", name);
	for (size_t i = 1; i < sizeof(*cond) / sizeof(uint64_t); i++)
		DO("word", ((uint64_t *)cond)[i]);
	end();
	CASE("destroy", old_cond_destroy(cond));
}

static void *nothing(void *argument)
{
	return argument;
}

static void ended_thread(void)
{
	pthread_t t;

	must(!pthread_create(&t, NULL, nothing, NULL), "pthread_create");
	begin("a thread that has ended");
	while (old_kill(t, 0) == 0)
		sched_yield();
	DO("old", old_kill(t, 0));
	DO("old, a signal", old_kill(t, SIGURG));
	DO("new", pthread_kill(t, 0));
	DO("new, a signal", pthread_kill(t, SIGURG));
	DO("join", pthread_join(t, NULL));
	end();
}

static void destructor(void *argument)
{
	CASE((const char *)argument, 0);
}

int main(void)
{
	static pthread_cond_t again;

	conditions("static", &static_cond);
	for (int i = 0; i < 3; i++) {
		memset(&again, 0xff, sizeof(uint64_t));
		CASE("init", old_cond_init(&again, NULL));
		conditions("initialized", &again);
	}
	ended_thread();
	__cxa_thread_atexit_impl(destructor, "destructor of a thread-local object", &__dso_handle);
	old_quick_exit(7);
}
