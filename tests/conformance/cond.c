/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/cond.c - condition variables with every kind of mutex
 */
#include "tests/conformance/case.h"

static pthread_mutex_t m;
static pthread_cond_t c;
static volatile int sleeping, woken, phase;

static void make_mutex(int type, int is_robust)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, type);
	pthread_mutexattr_setrobust(&attr, is_robust);
	must(!pthread_mutex_init(&m, &attr), "pthread_mutex_init");
	pthread_mutexattr_destroy(&attr);
}

static void make_cond(clockid_t clock, int shared)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, clock);
	pthread_condattr_setpshared(&attr, shared);
	must(!pthread_cond_init(&c, &attr), "pthread_cond_init");
	pthread_condattr_destroy(&attr);
}

#define LOCK   DO("lock", pthread_mutex_lock(&m))
#define UNLOCK DO("unlock", pthread_mutex_unlock(&m))

static void *try_it(void *argument)
{
	int ret = pthread_mutex_trylock(&m);

	(void)argument;
	if (!ret)
		pthread_mutex_unlock(&m);
	return (void *)(intptr_t)ret;
}

/* Whether the mutex is held: another thread finds it busy. */
static void add_held(void)
{
	add(" held=%d", (int)(intptr_t)in_thread(try_it, NULL));
}

static void timeouts(const char *name, clockid_t clock)
{
	for (int when = 0; when < WHENS; when++) {
		struct timespec t = at(when, clock);

		if (when == FAR)
			continue;
		begin("%s: timed wait, %s", name, when_names[when]);
		LOCK;
		DO("wait", pthread_cond_timedwait(&c, &m, &t));
		add_held();
		UNLOCK;
		end();
	}
	for (int i = 0; i < (int)CLOCKS; i++) {
		begin("%s: clock wait, %s", name, clocks[i].name);
		LOCK;
		for (int when = 0; when < WHENS; when++) {
			struct timespec t = at(when, clocks[i].id);

			if (when == FAR)
				continue;
			DO(when_names[when], pthread_cond_clockwait(&c, &m, clocks[i].id, &t));
			add_held();
		}
		UNLOCK;
		end();
	}
}

/* Waiters that count themselves; @argument tells which call they use. */
static void *waiter(void *argument)
{
	intptr_t how = (intptr_t)argument;
	int mine, ret = 0;

	pthread_mutex_lock(&m);
	mine = phase;
	sleeping++;
	while (phase == mine && !ret) {
		struct timespec real = at(FAR, CLOCK_REALTIME), mono = at(FAR, CLOCK_MONOTONIC);

		ret = how % 3 == 0 ? pthread_cond_wait(&c, &m) :
		      how % 3 == 1 ? pthread_cond_timedwait(&c, &m, &real) :
				     pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &mono);
	}
	woken++;
	ret |= pthread_mutex_unlock(&m);
	return (void *)(intptr_t)ret;
}

static void start_waiters(pthread_t *t, int n)
{
	pthread_mutex_lock(&m);
	sleeping = 0;
	woken = 0;
	pthread_mutex_unlock(&m);
	for (int i = 0; i < n; i++)
		must(!pthread_create(&t[i], NULL, waiter, (void *)(intptr_t)i), "pthread_create");
	for (;;) {
		pthread_mutex_lock(&m);
		if (sleeping == n)
			break; /* all wait: they hold the mutex otherwise */
		pthread_mutex_unlock(&m);
		sched_yield();
	}
}

static void join_waiters(const pthread_t *t, int n)
{
	void *result;
	long failed = 0;

	for (int i = 0; i < n; i++) {
		failed += pthread_join(t[i], &result);
		failed += (intptr_t)result;
	}
	add(" failed=%ld woken=%d", failed, woken);
}

static void wakes(const char *name)
{
	pthread_t t[9];

	begin("%s: broadcast wakes all", name);
	start_waiters(t, 9);
	phase++;
	DO("broadcast", pthread_cond_broadcast(&c));
	UNLOCK;
	join_waiters(t, 9);
	end();

	begin("%s: as many signals as waiters", name);
	start_waiters(t, 9);
	phase++;
	UNLOCK;
	for (int i = 0; i < 9; i++)
		DO("signal", pthread_cond_signal(&c));
	join_waiters(t, 9);
	end();

	begin("%s: wakes that nobody waits for", name);
	DO("signal", pthread_cond_signal(&c));
	DO("broadcast", pthread_cond_broadcast(&c));
	LOCK;
	{
		struct timespec t_soon = at(PAST, CLOCK_REALTIME);

		DO("wait", pthread_cond_timedwait(&c, &m, &t_soon));
	}
	UNLOCK;
	end();
}

/* A signal wakes one: the others still wait. */
static volatile int tokens, taken;

static void *taker(void *argument)
{
	(void)argument;
	pthread_mutex_lock(&m);
	sleeping++;
	while (!tokens)
		pthread_cond_wait(&c, &m);
	tokens--;
	taken++;
	pthread_mutex_unlock(&m);
	return NULL;
}

static void one_by_one(void)
{
	pthread_t t[6];

	begin("one token at a time");
	make_mutex(PTHREAD_MUTEX_NORMAL, 0);
	make_cond(CLOCK_REALTIME, 0);
	sleeping = taken = tokens = 0;
	for (int i = 0; i < 6; i++)
		must(!pthread_create(&t[i], NULL, taker, NULL), "pthread_create");
	for (int i = 1; i <= 6; i++) {
		pthread_mutex_lock(&m);
		tokens++;
		pthread_cond_signal(&c);
		pthread_mutex_unlock(&m);
		await(&taken, i);
		add(" %d", taken);
	}
	for (int i = 0; i < 6; i++)
		pthread_join(t[i], NULL);
	DO("destroy", pthread_cond_destroy(&c));
	end();
}

static void recursive(int depth)
{
	struct timespec t = at(SOON, CLOCK_REALTIME);
	pthread_t waiting;

	make_mutex(PTHREAD_MUTEX_RECURSIVE, 0);
	make_cond(CLOCK_REALTIME, 0);
	begin("recursive mutex, depth %d: time-out", depth);
	for (int i = 0; i < depth; i++)
		LOCK;
	DO("wait", pthread_cond_timedwait(&c, &m, &t));
	for (int i = 0; i < depth; i++) {
		add_held();
		UNLOCK;
	}
	add_held();
	UNLOCK;
	end();
	if (depth > 1)
		return;
	begin("recursive mutex, depth %d: woken", depth);
	start_waiters(&waiting, 1);
	phase++;
	DO("signal", pthread_cond_signal(&c));
	UNLOCK;
	join_waiters(&waiting, 1);
	end();
}

static void *hold(void *argument)
{
	(void)argument;
	pthread_mutex_lock(&m);
	set(&phase, 1);
	await(&phase, 2);
	pthread_mutex_unlock(&m);
	return NULL;
}

static void not_held(int is_robust)
{
	struct timespec t = at(SOON, CLOCK_REALTIME);
	pthread_t other;

	make_mutex(PTHREAD_MUTEX_ERRORCHECK, is_robust);
	make_cond(CLOCK_REALTIME, 0);
	begin("errorcheck%s mutex not held", is_robust ? " robust" : "");
	DO("wait", pthread_cond_wait(&c, &m));
	DO("timed", pthread_cond_timedwait(&c, &m, &t));
	DO("clock", pthread_cond_clockwait(&c, &m, CLOCK_REALTIME, &t));
	set(&phase, 0);
	must(!pthread_create(&other, NULL, hold, NULL), "pthread_create");
	await(&phase, 1);
	DO("wait", pthread_cond_wait(&c, &m));
	DO("timed", pthread_cond_timedwait(&c, &m, &t));
	set(&phase, 2);
	pthread_join(other, NULL);
	LOCK;
	UNLOCK;
	DO("destroy", pthread_cond_destroy(&c));
	end();
}

static volatile int locked;

static void *signal_and_die(void *argument)
{
	pthread_mutex_lock(&m);
	set(&locked, 1);
	if (argument)
		pthread_cond_signal(&c);
	return NULL;
}

static void owner_death(bool signalled)
{
	pthread_t other;
	struct timespec t;
	int ret;

	make_mutex(PTHREAD_MUTEX_NORMAL, 1);
	make_cond(CLOCK_REALTIME, 0);
	begin("robust mutex, owner dies during the wait, %s", signalled ? "woken" : "time-out");
	locked = 0;
	LOCK;
	must(!pthread_create(&other, NULL, signal_and_die, signalled ? &c : NULL),
	     "pthread_create");
	/* Not woken: until the other thread has taken the mutex while this one waited. */
	do {
		t = in_ms(CLOCK_REALTIME, 300);
		errno = UNTOUCHED;
		ret = signalled ? pthread_cond_wait(&c, &m) : pthread_cond_timedwait(&c, &m, &t);
	} while (!signalled && !locked);
	note("wait", ret, errno);
	DO("consistent", pthread_mutex_consistent(&m));
	UNLOCK;
	pthread_join(other, NULL);
	LOCK;
	UNLOCK;
	DO("destroy", pthread_mutex_destroy(&m));
	end();
}

static void attributes(void)
{
	pthread_condattr_t attr;

	begin("attributes");
	DO("init", pthread_condattr_init(&attr));
	for (int i = 0; i < (int)CLOCKS; i++) {
		clockid_t got = -1;

		DO(clocks[i].name, pthread_condattr_setclock(&attr, clocks[i].id));
		DO("get", pthread_condattr_getclock(&attr, &got));
		add(" is %d", got);
	}
	DO("shared", pthread_condattr_setpshared(&attr, 77));
	end();
}

/* The waker destroys what the last waiter has left, and its memory is used again. */
static void destroyed_at_once(void)
{
	long failed = 0;
	pthread_t t[4];

	make_mutex(PTHREAD_MUTEX_NORMAL, 0);
	for (int round = 0; round < 50; round++) {
		make_cond(round % 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME, 0);
		start_waiters(t, 4);
		phase++;
		failed += pthread_cond_broadcast(&c);
		failed += pthread_mutex_unlock(&m);
		failed += pthread_cond_destroy(&c); /* waits until they are out */
		memset(&c, round, sizeof(c));
		for (int i = 0; i < 4; i++)
			failed += pthread_join(t[i], NULL);
	}
	begin("destroyed right after the broadcast");
	add(" failed=%ld", failed);
	end();
}

static pthread_cond_t constant = PTHREAD_COND_INITIALIZER;

int main(void)
{
	static const struct {
		const char *name;
		int type, is_robust;
	} mutexes[] = { { "normal mutex", PTHREAD_MUTEX_NORMAL, 0 },
			{ "errorcheck mutex", PTHREAD_MUTEX_ERRORCHECK, 0 },
			{ "adaptive mutex", PTHREAD_MUTEX_ADAPTIVE_NP, 0 },
			{ "robust mutex", PTHREAD_MUTEX_NORMAL, 1 } };

	for (int i = 0; i < 4; i++) {
		make_mutex(mutexes[i].type, mutexes[i].is_robust);
		make_cond(CLOCK_REALTIME, 0);
		timeouts(mutexes[i].name, CLOCK_REALTIME);
		wakes(mutexes[i].name);
		CASE("destroy", pthread_cond_destroy(&c));
	}
	make_mutex(PTHREAD_MUTEX_NORMAL, 0);
	make_cond(CLOCK_MONOTONIC, 0);
	timeouts("monotonic", CLOCK_MONOTONIC);
	make_cond(CLOCK_MONOTONIC, 1);
	timeouts("monotonic shared", CLOCK_MONOTONIC);
	make_cond(CLOCK_REALTIME, 1);
	wakes("shared");
	recursive(1);
	recursive(2);
	recursive(3);
	not_held(0);
	not_held(1);
	owner_death(true);
	owner_death(false);
	one_by_one();
	destroyed_at_once();
	attributes();
	begin("static initializer");
	DO("signal", pthread_cond_signal(&constant));
	DO("broadcast", pthread_cond_broadcast(&constant));
	DO("destroy", pthread_cond_destroy(&constant));
	end();
	return 0;
}
