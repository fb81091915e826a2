/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/capacity.c - very many threads at once, very many locks, and memory that is one
 * kind of object after the other without having been destroyed. CPA_LONG: as many as we promise.
 */
#include "tests/conformance/case.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int here, go;

static void *wait_for_all(void *argument)
{
	pthread_mutex_lock(&lock);
	here++;
	pthread_cond_broadcast(&changed);
	while (!go)
		pthread_cond_wait(&changed, &lock);
	here--;
	pthread_mutex_unlock(&lock);
	return argument;
}

static void threads(int count)
{
	pthread_t *t = calloc((size_t)count, sizeof(*t));
	pthread_attr_t attributes;
	int failed = 0;

	must(t, "calloc");
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 1 << 16);
	for (int i = 0; i < count; i++)
		must(!pthread_create(&t[i], &attributes, wait_for_all, NULL), "pthread_create");
	pthread_mutex_lock(&lock);
	while (here < count)
		pthread_cond_wait(&changed, &lock);
	go = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < count; i++)
		failed += pthread_join(t[i], NULL);
	begin("threads at once");
	add(" failed=%d here=%d", failed, here);
	end();
	free(t);
}

static void locks(int count)
{
	pthread_mutex_t *m = calloc((size_t)count, sizeof(*m));
	long failed = 0;

	must(m, "calloc");
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < count; i++) {
			failed += pthread_mutex_lock(&m[i]);
			failed += pthread_mutex_trylock(&m[i]) != EBUSY;
			failed += pthread_mutex_unlock(&m[i]);
		}
	}
	begin("locks");
	add(" failed=%ld", failed);
	end();
	free(m);
}

/* Use zeroed memory as object of kind @kind. Return how many calls failed. */
static int use(void *memory, int kind)
{
	switch (kind) {
	case 0:
		return pthread_mutex_init(memory, NULL) + pthread_mutex_lock(memory) +
		       pthread_mutex_unlock(memory);
	case 1:
		return pthread_rwlock_init(memory, NULL) + pthread_rwlock_rdlock(memory) +
		       pthread_rwlock_unlock(memory) + pthread_rwlock_wrlock(memory) +
		       pthread_rwlock_unlock(memory);
	case 2:
		return pthread_spin_init(memory, 0) + pthread_spin_lock(memory) +
		       pthread_spin_unlock(memory);
	case 3:
		return pthread_barrier_init(memory, NULL, 1) +
		       (pthread_barrier_wait(memory) != PTHREAD_BARRIER_SERIAL_THREAD);
	case 4:
		return sem_init(memory, 0, 0) + sem_post(memory) + sem_wait(memory);
	default: /* left locked */
		return pthread_mutex_init(memory, NULL) + pthread_mutex_lock(memory);
	}
}

static void reused_memory(int count)
{
	static char memory[128] __attribute__((aligned(64)));
	int failed = 0;

	for (int i = 0; i < count; i++) {
		memset(memory, 0, sizeof(memory));
		failed += use(memory, i % 6);
	}
	begin("reused memory");
	add(" failed=%d", failed);
	end();
}

int main(void)
{
	bool most = getenv("CPA_LONG") != NULL;

	threads(most ? 10000 : 1000);
	locks(most ? 1000000 : 20000);
	reused_memory(most ? 600000 : 6000);
	return 0;
}
