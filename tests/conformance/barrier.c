/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/barrier.c - barriers and spin locks
 */
#include "tests/conformance/case.h"

static pthread_barrier_t b;
static volatile int serial, others;

static void *rounds(void *argument)
{
	for (intptr_t i = 0; i < (intptr_t)argument; i++) {
		int ret = pthread_barrier_wait(&b);

		__atomic_fetch_add(ret == PTHREAD_BARRIER_SERIAL_THREAD ? &serial : &others,
				   ret ? 1 : 1, __ATOMIC_RELAXED);
		if (ret && ret != PTHREAD_BARRIER_SERIAL_THREAD)
			return (void *)(intptr_t)ret;
	}
	return NULL;
}

static void turns(int members, int n, bool shared)
{
	pthread_barrierattr_t attr;
	pthread_t t[64];
	void *result;

	begin("barrier of %d, %d rounds%s", members, n, shared ? ", shared" : "");
	serial = others = 0;
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, shared);
	DO("init", pthread_barrier_init(&b, &attr, (unsigned)members));
	for (int i = 1; i < members; i++)
		must(!pthread_create(&t[i], NULL, rounds, (void *)(intptr_t)n), "pthread_create");
	rounds((void *)(intptr_t)n);
	for (int i = 1; i < members; i++) {
		pthread_join(t[i], &result);
		add(" %d", (int)(intptr_t)result);
	}
	add(" serial=%d others=%d", serial, others);
	DO("destroy", pthread_barrier_destroy(&b));
	end();
}

/* Whoever leaves as the serial thread destroys the barrier, others may still be leaving. */
static void *leave(void *argument)
{
	if (pthread_barrier_wait(argument) != PTHREAD_BARRIER_SERIAL_THREAD)
		return NULL;
	serial += pthread_barrier_destroy(argument) == 0;
	memset(argument, 0x5a, sizeof(pthread_barrier_t));
	return NULL;
}

static void destroyed_while_left(void)
{
	pthread_t t[4];

	begin("destroyed by the serial thread");
	serial = 0;
	for (int round = 0; round < 100; round++) {
		must(!pthread_barrier_init(&b, NULL, 4), "pthread_barrier_init");
		for (int i = 0; i < 4; i++)
			must(!pthread_create(&t[i], NULL, leave, &b), "pthread_create");
		for (int i = 0; i < 4; i++)
			pthread_join(t[i], NULL);
	}
	add(" destroyed=%d", serial);
	end();
}

static void *spin_others(void *argument)
{
	pthread_spinlock_t *s = argument;

	DO("try", pthread_spin_trylock(s));
	return NULL;
}

static void *spin_count(void *argument)
{
	pthread_spinlock_t *s = argument;

	for (int i = 0; i < 1000; i++) {
		while (i % 2 && pthread_spin_trylock(s))
			sched_yield();
		if (i % 2 == 0)
			pthread_spin_lock(s);
		serial++;
		pthread_spin_unlock(s);
	}
	return NULL;
}

static void spin(int shared)
{
	pthread_spinlock_t s;
	pthread_t t;

	begin("spin lock%s", shared ? ", shared" : "");
	DO("init", pthread_spin_init(&s, shared));
	DO("lock", pthread_spin_lock(&s));
	DO("try", pthread_spin_trylock(&s));
	in_thread(spin_others, (void *)&s);
	DO("unlock", pthread_spin_unlock(&s));
	DO("try", pthread_spin_trylock(&s));
	DO("unlock", pthread_spin_unlock(&s));
	serial = 0;
	must(!pthread_create(&t, NULL, spin_count, (void *)&s), "pthread_create");
	spin_count((void *)&s);
	pthread_join(t, NULL);
	add(" count=%d", serial);
	DO("destroy", pthread_spin_destroy(&s));
	end();
}

int main(void)
{
	for (int members = 1; members <= 9; members++)
		turns(members, 20, members % 2);
	turns(40, 5, false);
	turns(1, 1000, false);
	CASE("barrier of 0", pthread_barrier_init(&b, NULL, 0));
	CASE("barrier of too many", pthread_barrier_init(&b, NULL, UINT32_MAX));
	destroyed_while_left();
	spin(PTHREAD_PROCESS_PRIVATE);
	spin(PTHREAD_PROCESS_SHARED);
	return 0;
}
