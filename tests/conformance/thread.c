/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/thread.c - create, join, detach, exit, attributes, thread-specific data
 */
#include <alloca.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "tests/conformance/case.h"

static volatile int go, reached;

static void *nothing(void *argument)
{
	return argument;
}

static void *until_told(void *argument)
{
	set(&reached, 1);
	await(&go, 1);
	return argument;
}

static void *exits(void *argument)
{
	pthread_exit(argument);
}

static void *errno_at_start(void *argument)
{
	(void)argument;
	return (void *)(intptr_t)errno;
}

static pthread_t start(void *(*f)(void *), void *argument)
{
	pthread_t t;

	must(!pthread_create(&t, NULL, f, argument), "pthread_create");
	return t;
}

static void joins(void)
{
	struct timespec past = at(PAST, CLOCK_REALTIME), soon, mono;
	void *result = NULL;
	pthread_t t;

	begin("join: values");
	t = start(nothing, (void *)123);
	DO("join", pthread_join(t, &result));
	add(" value=%ld", (long)(intptr_t)result);
	t = start(exits, (void *)-1);
	DO("join", pthread_join(t, &result));
	add(" value=%ld", (long)(intptr_t)result);
	t = start(errno_at_start, NULL);
	DO("join", pthread_join(t, &result));
	add(" errno=%ld", (long)(intptr_t)result);
	DO("no place", pthread_join(start(nothing, NULL), NULL));
	end();

	begin("join: refused");
	DO("self", pthread_join(pthread_self(), &result));
	DO("self try", pthread_tryjoin_np(pthread_self(), &result));
	go = 0;
	t = start(until_told, (void *)7);
	DO("try", pthread_tryjoin_np(t, &result));
	soon = at(SOON, CLOCK_REALTIME);
	DO("past", pthread_timedjoin_np(t, &result, &past));
	DO("soon", pthread_timedjoin_np(t, &result, &soon));
	soon = at(SOON, CLOCK_REALTIME);
	DO("clock", pthread_clockjoin_np(t, &result, CLOCK_REALTIME, &soon));
	mono = at(SOON, CLOCK_MONOTONIC);
	DO("clock", pthread_clockjoin_np(t, &result, CLOCK_MONOTONIC, &mono));
	DO("bad clock", pthread_clockjoin_np(t, &result, 12345, &mono));
	set(&go, 1);
	mono = at(FAR, CLOCK_MONOTONIC);
	DO("clock", pthread_clockjoin_np(t, &result, CLOCK_MONOTONIC, &mono));
	add(" value=%ld", (long)(intptr_t)result);
	end();

	begin("join: try until it ends");
	t = start(nothing, (void *)5);
	for (int ret = EBUSY; ret == EBUSY; sched_yield()) {
		ret = pthread_tryjoin_np(t, &result);
		if (ret != EBUSY)
			add(" %d value=%ld", ret, (long)(intptr_t)result);
	}
	end();

	begin("detach");
	set(&go, 0);
	set(&reached, 0);
	t = start(until_told, NULL);
	await(&reached, 1);
	DO("detach", pthread_detach(t));
	DO("again", pthread_detach(t));
	DO("join", pthread_join(t, &result));
	DO("try", pthread_tryjoin_np(t, &result));
	DO("timed", pthread_timedjoin_np(t, &result, &past));
	set(&go, 1);
	end();
}

/* Two threads join each other, and a third joins itself by way of nobody. */
static pthread_t first_thread;

static void *join_first(void *argument)
{
	(void)argument;
	return (void *)(intptr_t)pthread_join(first_thread, NULL);
}

static void *joined_back(void *argument)
{
	(void)argument;
	first_thread = pthread_self();
	set(&reached, 2);
	await(&reached, 3);
	return NULL;
}

static void attributes(void)
{
	pthread_attr_t attr;
	size_t size = 0, guard = 0;
	int state = -1;
	void *result;
	cpu_set_t cpus;
	pthread_t t;
	struct sched_param param = { 0 };

	pthread_attr_init(&attr);
	begin("attributes: set");
	DO("small", pthread_attr_setstacksize(&attr, 1));
	DO("least", pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN));
	DO("state", pthread_attr_setdetachstate(&attr, 77));
	DO("detached", pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED));
	DO("get", pthread_attr_getdetachstate(&attr, &state));
	add(" is %d", state);
	DO("joinable", pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_JOINABLE));
	end();

	begin("attributes: least stack");
	DO("create", pthread_create(&t, &attr, nothing, (void *)3));
	DO("join", pthread_join(t, &result));
	add(" value=%ld", (long)(intptr_t)result);
	end();

	begin("attributes: cannot be");
	pthread_attr_setstacksize(&attr, (size_t)1 << 60);
	DO("huge stack", pthread_create(&t, &attr, nothing, NULL));
	DO("huge stack", pthread_create(&t, &attr, nothing, NULL));
	pthread_attr_destroy(&attr);
	pthread_attr_init(&attr);
	CPU_ZERO(&cpus);
	CPU_SET(1023, &cpus);
	DO("cpu 1023", pthread_attr_setaffinity_np(&attr, sizeof(cpus), &cpus));
	DO("create", pthread_create(&t, &attr, nothing, NULL));
	pthread_attr_destroy(&attr);
	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	param.sched_priority = 99;
	DO("priority", pthread_attr_setschedparam(&attr, &param));
	pthread_attr_destroy(&attr);
	end();

	begin("attributes: of a thread");
	DO("get", pthread_getattr_np(pthread_self(), &attr));
	DO("state", pthread_attr_getdetachstate(&attr, &state));
	DO("guard", pthread_attr_getguardsize(&attr, &guard));
	add(" state %d guard %zu", state, guard);
	pthread_attr_destroy(&attr);
	pthread_attr_init(&attr);
	DO("size", pthread_attr_getstacksize(&attr, &size));
	add(" as the limit=%d", size > 0);
	pthread_attr_destroy(&attr);
	end();
}

/* On the smallest stack there is: locks, errors, and signals, if there is room for one. */
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *on_small_stack(void *argument)
{
	intptr_t failed = 0;
	struct timespec t = at(PAST, CLOCK_REALTIME);
	sem_t s;

	for (int i = 0; i < 100; i++)
		failed += pthread_mutex_lock(&m) + pthread_mutex_unlock(&m);
	failed += pthread_mutex_lock(&m) + (pthread_mutex_timedlock(&m, &t) != ETIMEDOUT);
	failed += pthread_mutex_unlock(&m);
	failed += sem_init(&s, 0, 1) + sem_wait(&s) + (sem_trywait(&s) != -1);
	/* Long enough for any sampler to fire. */
	for (uint64_t end_ms = 0, i = 0; i < 100000; i++) {
		struct timespec cpu;

		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
		if (!end_ms)
			end_ms = (uint64_t)cpu.tv_nsec / 1000000 + 30;
		if ((uint64_t)cpu.tv_sec || (uint64_t)cpu.tv_nsec / 1000000 >= end_ms)
			break;
	}
	return (void *)(failed + (intptr_t)argument);
}

#define FILLED 16384 /* bytes that a thread needs beyond the least */

/* The program's own part of its stack is full: there is room for what libc needs, and a signal. */
static void *on_full_stack(void *argument)
{
	size_t least = (size_t)sysconf(_SC_THREAD_STACK_MIN);
	size_t room = 4096 + (size_t)sysconf(_SC_MINSIGSTKSZ), size = FILLED + least - room;
	volatile char *filled = alloca(size);

	for (size_t i = 0; i < size; i += 64)
		filled[i] = 1;
	return on_small_stack(argument);
}

static void small_stacks(void)
{
	size_t size = (size_t)sysconf(_SC_THREAD_STACK_MIN);
	pthread_attr_t attr;
	pthread_t t[8];
	void *result;

	pthread_attr_init(&attr);
	begin("least stack at work");
	DO("size", pthread_attr_setstacksize(&attr, size));
	for (int i = 0; i < 8; i++)
		must(!pthread_create(&t[i], &attr, on_small_stack, NULL), "pthread_create");
	for (int i = 0; i < 8; i++) {
		pthread_join(t[i], &result);
		add(" %ld", (long)(intptr_t)result);
	}
	end();

	begin("most of a small stack");
	DO("size", pthread_attr_setstacksize(&attr, size + FILLED));
	for (int i = 0; i < 4; i++)
		must(!pthread_create(&t[i], &attr, on_full_stack, NULL), "pthread_create");
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &result);
		add(" %ld", (long)(intptr_t)result);
	}
	end();

	begin("a stack of one's own");
	for (int i = 0; i < 3; i++) {
		void *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);

		DO("set", pthread_attr_setstack(&attr, stack, 65536));
		DO("create", pthread_create(&t[0], &attr, on_small_stack, (void *)9));
		DO("join", pthread_join(t[0], &result));
		add(" value=%ld", (long)(intptr_t)result);
		munmap(stack, 65536);
	}
	end();
	pthread_attr_destroy(&attr);
}

/* Destructors that lock, wait, make new keys and set their values again. */
static pthread_key_t keys[4];
static volatile int runs[4], ended;
static sem_t finished;

static void count_runs(void *value)
{
	runs[0]++;
	pthread_mutex_lock(&m);
	pthread_mutex_unlock(&m);
	pthread_setspecific(keys[0], value); /* as often as there are rounds */
}

static void lock_three_times(void *value)
{
	struct timespec t = at(PAST, CLOCK_REALTIME);

	runs[1]++;
	pthread_mutex_lock(&m);
	sem_post(&finished);
	sem_timedwait(&finished, &t);
	pthread_mutex_unlock(&m);
	if (runs[1] < 3)
		pthread_setspecific(keys[1], value);
}

static void *errno_thread(void *argument)
{
	(void)argument;
	runs[3]++;
	return NULL;
}

static void new_key(void *value)
{
	pthread_key_t key;

	(void)value;
	runs[2]++;
	if (!pthread_key_create(&key, NULL)) {
		pthread_setspecific(key, &key);
		pthread_key_delete(key);
	}
	in_thread(errno_thread, NULL);
}

static void say_end(void *value)
{
	(void)value;
	pthread_mutex_lock(&m);
	ended++;
	pthread_mutex_unlock(&m);
}

static void *with_keys(void *argument)
{
	for (int i = 0; i < 4; i++)
		pthread_setspecific(keys[i], &keys[i]);
	return argument;
}

static void specific(void)
{
	static void (*const destructors[4])(void *) = { count_runs, lock_three_times, new_key,
							say_end };

	sem_init(&finished, 0, 0);
	begin("thread-specific data: destructors");
	for (int i = 0; i < 4; i++)
		DO("key", pthread_key_create(&keys[i], destructors[i]));
	in_thread(with_keys, NULL);
	add(" runs %d %d %d %d ended=%d", runs[0], runs[1], runs[2], runs[3], ended);
	for (int i = 0; i < 4; i++)
		DO("delete", pthread_key_delete(keys[i]));
	DO("delete", pthread_key_delete(keys[0]));
	end();

	begin("thread-specific data: how many keys");
	{
		static pthread_key_t all[PTHREAD_KEYS_MAX + 1];
		int n = 0;

		while (n <= PTHREAD_KEYS_MAX && !pthread_key_create(&all[n], NULL))
			n++;
		add(" enough=%d", n > PTHREAD_KEYS_MAX - 16);
		while (n--)
			pthread_key_delete(all[n]);
	}
	end();
}

static void names(void)
{
	char name[16] = "";

	begin("names");
	DO("set", pthread_setname_np(pthread_self(), "conform"));
	DO("get", pthread_getname_np(pthread_self(), name, sizeof(name)));
	add(" %s", name);
	DO("long", pthread_setname_np(pthread_self(), "a name that is too long"));
	end();
	begin("names: prctl");
	DO("set", prctl(PR_SET_NAME, "a name that is too long"));
	DO("get", prctl(PR_GET_NAME, name));
	add(" %s", name);
	DO("none", prctl(PR_SET_NAME, NULL));
	DO("unknown", prctl(-1, 1UL, 2UL, 3UL, 4UL));
	DO("no name", prctl(PR_SET_KEEPCAPS, 2UL, 0UL, 0UL, 0UL));
	end();
}

int main(void)
{
	pthread_t t;

	joins();
	begin("join: each other");
	t = start(joined_back, NULL);
	await(&reached, 2);
	{
		pthread_t second = start(join_first, NULL);
		void *result;

		set(&reached, 3);
		DO("join", pthread_join(second, &result));
		add(" value=%ld", (long)(intptr_t)result);
		(void)t;
	}
	end();
	attributes();
	small_stacks();
	specific();
	names();
	return 0;
}
