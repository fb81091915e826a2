/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/mutex.c - every kind of mutex, every documented result
 */
#include "tests/conformance/case.h"

#include <linux/futex.h>
#include <sys/syscall.h>

static const struct {
	const char *name;
	int type;
} types[] = { { "normal", PTHREAD_MUTEX_NORMAL },
	      { "recursive", PTHREAD_MUTEX_RECURSIVE },
	      { "errorcheck", PTHREAD_MUTEX_ERRORCHECK },
	      { "adaptive", PTHREAD_MUTEX_ADAPTIVE_NP } };
static const char *const protocols[] = { "", " inherit", " protect" };

static char name[128];
static pthread_mutex_t m;
static bool robust, errorcheck, recursive;

static int make(int type, int protocol, int is_robust, int shared)
{
	pthread_mutexattr_t attr;
	int ret;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, types[type].type);
	pthread_mutexattr_setprotocol(&attr, protocol);
	pthread_mutexattr_setprioceiling(&attr, 1);
	pthread_mutexattr_setrobust(&attr, is_robust);
	pthread_mutexattr_setpshared(&attr, shared);
	ret = pthread_mutex_init(&m, &attr);
	pthread_mutexattr_destroy(&attr);
	robust = is_robust;
	errorcheck = types[type].type == PTHREAD_MUTEX_ERRORCHECK;
	recursive = types[type].type == PTHREAD_MUTEX_RECURSIVE;
	snprintf(name, sizeof(name), "%s%s%s%s", types[type].name, protocols[protocol],
		 is_robust ? " robust" : "", shared ? " shared" : "");
	return ret;
}

static int timed(int when)
{
	struct timespec t = at(when, CLOCK_REALTIME);

	return pthread_mutex_timedlock(&m, &t);
}

static int clocked(int clock, int when)
{
	struct timespec t = at(when, clocks[clock].id);

	return pthread_mutex_clocklock(&m, clocks[clock].id, &t);
}

#define LOCK   DO("lock", pthread_mutex_lock(&m))
#define TRY    DO("try", pthread_mutex_trylock(&m))
#define UNLOCK DO("unlock", pthread_mutex_unlock(&m))

static void alone(void)
{
	begin("%s: alone", name);
	for (int i = 0; i < 4; i++) {
		int ret;

		errno = UNTOUCHED;
		ret = i % 2 ? pthread_mutex_trylock(&m) : pthread_mutex_lock(&m);
		note(i % 2 ? "try" : "lock", ret, errno);
		if (!ret) /* EINVAL: the ceiling is above what this thread may have */
			UNLOCK;
	}
	for (int when = 0; when < WHENS; when++) {
		int ret;

		errno = UNTOUCHED;
		ret = timed(when);
		note(when_names[when], ret, errno);
		if (!ret)
			UNLOCK;
	}
	if (errorcheck || recursive || robust)
		UNLOCK; /* not held */
	DO("destroy", pthread_mutex_destroy(&m));
	end();
}

/* The owner asks again. */
static void again(void)
{
	begin("%s: again", name);
	LOCK;
	TRY;
	if (recursive)
		UNLOCK;
	DO("past", timed(PAST));
	if (recursive)
		UNLOCK;
	if (errorcheck || recursive) {
		LOCK;
		DO("invalid", timed(TOO_MANY_NS));
		for (int i = 0; recursive && i < 3; i++)
			LOCK;
		for (int i = 0; recursive && i < 5; i++)
			UNLOCK;
	} else {
		DO("invalid", timed(TOO_MANY_NS));
		DO("soon", timed(SOON));
	}
	DO("destroy held", pthread_mutex_destroy(&m));
	UNLOCK;
	DO("destroy", pthread_mutex_destroy(&m));
	end();
}

static void *others(void *argument)
{
	(void)argument;
	TRY;
	for (int when = 0; when < WHENS; when++)
		if (when != FAR)
			DO(when_names[when], timed(when));
	for (int clock = 0; clock < (int)CLOCKS; clock++) {
		DO(clocks[clock].name, clocked(clock, SOON));
		DO("invalid", clocked(clock, TOO_MANY_NS));
	}
	if (errorcheck || recursive || robust)
		UNLOCK;
	return NULL;
}

static void contended(void)
{
	begin("%s: held by another", name);
	LOCK;
	in_thread(others, NULL);
	UNLOCK;
	end();
	begin("%s: clocks when free", name);
	for (int clock = 0; clock < (int)CLOCKS; clock++) {
		for (int when = 0; when < WHENS; when++) {
			int ret = clocked(clock, when);

			add(" %d", ret);
			if (!ret)
				pthread_mutex_unlock(&m);
		}
	}
	end();
}

static volatile int held, sum;

static void *hand_over(void *argument)
{
	struct timespec t = at(FAR, CLOCK_MONOTONIC);
	int ret = 0;

	set(&held, 1);
	for (int i = 0; i < 200; i++) {
		ret |= i % 3 == 0 ? pthread_mutex_lock(&m) :
		       i % 3 == 1 ? timed(FAR) :
				    pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &t);
		sum++;
		ret |= pthread_mutex_unlock(&m);
	}
	return (void *)(argument ? (intptr_t)ret : 0);
}

/*
 * Wait for the end of @t, whose last wait may have lost its wake: glibc's robust mutexes can lose
 * one while another thread keeps them busy, and then who waits sleeps although the mutex is free.
 */
static void join_waking(pthread_t t, void **result)
{
	for (;;) {
		struct timespec second = in_ms(CLOCK_REALTIME, 1000);

		if (pthread_timedjoin_np(t, result, &second) != ETIMEDOUT)
			return;
		syscall(SYS_futex, &m.__data.__lock, FUTEX_WAKE, 1, NULL, NULL, 0);
		syscall(SYS_futex, &m.__data.__lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
}

/* Waiters get it in the end, by each of the calls that wait. */
static void waiting(void)
{
	pthread_t t[3];
	void *result;

	sum = 0;
	begin("%s: waiters", name);
	LOCK;
	held = 0;
	for (int i = 0; i < 3; i++)
		must(!pthread_create(&t[i], NULL, hand_over, &m), "pthread_create");
	await(&held, 1);
	sleep_ms(2);
	UNLOCK;
	for (int i = 0; i < 3; i++) {
		join_waking(t[i], &result);
		add(" %d", (int)(intptr_t)result);
	}
	add(" sum=%d", sum);
	DO("destroy", pthread_mutex_destroy(&m));
	end();
}

static void *lock_and_die(void *argument)
{
	(void)argument;
	return (void *)(intptr_t)pthread_mutex_lock(&m);
}

/* The owner dies: how @how gets the lock, and what becomes of it. */
static void owner_death(int how, bool repair)
{
	static const char *const hows[] = { "lock", "try", "timed", "clock" };

	begin("%s: owner died, %s, %s", name, hows[how], repair ? "repaired" : "given up");
	add(" owner=%d", (int)(intptr_t)in_thread(lock_and_die, NULL));
	DO(hows[how], how == 0 ? pthread_mutex_lock(&m) :
		      how == 1 ? pthread_mutex_trylock(&m) :
		      how == 2 ? timed(FAR) :
				 clocked(1, FAR));
	if (repair) {
		DO("consistent", pthread_mutex_consistent(&m));
		DO("consistent again", pthread_mutex_consistent(&m));
	}
	UNLOCK;
	LOCK;
	if (repair)
		UNLOCK;
	TRY;
	if (repair)
		UNLOCK;
	DO("timed", timed(PAST));
	if (repair)
		UNLOCK;
	DO("destroy", pthread_mutex_destroy(&m));
	end();
}

static void *wait_for_death(void *argument)
{
	int ret;

	(void)argument;
	set(&held, 2);
	ret = pthread_mutex_lock(&m);
	if (ret == EOWNERDEAD) {
		pthread_mutex_consistent(&m);
		pthread_mutex_unlock(&m);
	}
	return (void *)(intptr_t)ret;
}

static void *die_slowly(void *argument)
{
	(void)argument;
	pthread_mutex_lock(&m);
	set(&held, 1);
	await(&held, 2);
	sleep_ms(20);
	return NULL;
}

static void death_while_waiting(void)
{
	pthread_t dies, waits;
	void *result;

	held = 0;
	must(!pthread_create(&dies, NULL, die_slowly, NULL), "pthread_create");
	await(&held, 1);
	must(!pthread_create(&waits, NULL, wait_for_death, NULL), "pthread_create");
	pthread_join(dies, NULL);
	pthread_join(waits, &result);
	begin("%s: owner dies while another waits", name);
	add(" lock=%d", (int)(intptr_t)result);
	LOCK;
	UNLOCK;
	DO("consistent", pthread_mutex_consistent(&m));
	DO("destroy", pthread_mutex_destroy(&m));
	end();
}

/* In a real-time thread, where it is allowed: then the ceiling is no obstacle. */
static void *ceilings(void *argument)
{
	struct sched_param param = { .sched_priority = 1 };
	int old = -1;

	(void)argument;
	begin("ceiling");
	DO("real time", pthread_setschedparam(pthread_self(), SCHED_FIFO, &param));
	DO("get", pthread_mutex_getprioceiling(&m, &old));
	add(" is %d", old);
	DO("set", pthread_mutex_setprioceiling(&m, 2, &old));
	add(" was %d", old);
	DO("set", pthread_mutex_setprioceiling(&m, 1000, &old));
	end();
	for (int type = 0; type < 4; type++) {
		make(type, PTHREAD_PRIO_PROTECT, 0, 0);
		alone();
		make(type, PTHREAD_PRIO_PROTECT, 0, 0);
		if (pthread_mutex_lock(&m))
			continue;
		pthread_mutex_unlock(&m);
		again();
		make(type, PTHREAD_PRIO_PROTECT, 0, 0);
		contended();
		waiting();
	}
	return NULL;
}

static pthread_mutex_t constant = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t constants[3] = { PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
					PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
					PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP };

int main(void)
{
	for (int type = 0; type < 4; type++) {
		for (int kind = 0; kind < 12; kind++) {
			int protocol = kind % 3, is_robust = kind / 3 % 2, shared = kind / 6;
			int ret = make(type, protocol, is_robust, shared);

			if (ret) {
				begin("%s: init", name);
				add(" refused=%d", ret);
				end();
				continue;
			}
			alone();
			if (protocol == PTHREAD_PRIO_PROTECT)
				continue;
			make(type, protocol, is_robust, shared);
			again();
			make(type, protocol, is_robust, shared);
			contended();
			waiting();
			for (int how = 0; is_robust && how < 8; how++) {
				make(type, protocol, is_robust, shared);
				owner_death(how / 2, how % 2);
			}
			if (is_robust) {
				make(type, protocol, is_robust, shared);
				death_while_waiting();
			}
		}
	}
	if (!make(0, PTHREAD_PRIO_PROTECT, 0, 0))
		in_thread(ceilings, NULL);
	begin("static initializers");
	DO("lock", pthread_mutex_lock(&constant));
	DO("try", pthread_mutex_trylock(&constant));
	DO("unlock", pthread_mutex_unlock(&constant));
	for (int i = 0; i < 3; i++) {
		DO("lock", pthread_mutex_lock(&constants[i]));
		DO("try", pthread_mutex_trylock(&constants[i]));
		DO("unlock", pthread_mutex_unlock(&constants[i]));
		DO("unlock", i < 2 ? pthread_mutex_unlock(&constants[i]) : 0);
		DO("destroy", pthread_mutex_destroy(&constants[i]));
	}
	end();
	make(0, 0, 0, 0);
	CASE("consistent: not robust", pthread_mutex_consistent(&m));
	return 0;
}
