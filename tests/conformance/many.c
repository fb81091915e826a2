/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/many.c - many threads, many objects, memory used again as something else
 */
#include <limits.h>

#include "tests/conformance/case.h"

#define AT_ONCE 2000
#define THREADS 20000
#define MUTEXES 20000
#define ROUNDS	200

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static volatile long count, here;

static void *count_one(void *argument)
{
	pthread_mutex_lock(&m);
	count++;
	pthread_mutex_unlock(&m);
	return argument;
}

static volatile int gate;

static void *count_and_wait(void *argument)
{
	pthread_mutex_lock(&m);
	here++;
	while (!gate)
		pthread_cond_wait(&c, &m);
	count++;
	pthread_mutex_unlock(&m);
	return argument;
}

static void at_once(const pthread_attr_t *attr)
{
	static pthread_t t[AT_ONCE];
	int made = 0, refused = 0;
	long wrong = 0;

	begin("threads at once");
	while (made < AT_ONCE && !refused) {
		refused = pthread_create(&t[made], attr, count_and_wait, (void *)(intptr_t)made);
		made += !refused;
	}
	pthread_mutex_lock(&m);
	gate = 1;
	pthread_cond_broadcast(&c);
	pthread_mutex_unlock(&m);
	for (int i = 0; i < made; i++) {
		void *result;

		wrong += pthread_join(t[i], &result) || result != (void *)(intptr_t)i;
	}
	add(" made=%d refused=%d count=%ld wrong=%ld", made, refused, count, wrong);
	end();
}

static void over_the_run(const pthread_attr_t *attr)
{
	pthread_t t[20];
	long failed = 0;

	begin("threads over the run");
	count = 0;
	for (int i = 0; i < THREADS / 20; i++) {
		for (int k = 0; k < 20; k++)
			failed += pthread_create(&t[k], attr, count_one, NULL) != 0;
		for (int k = 0; k < 20; k++)
			failed += pthread_join(t[k], NULL) != 0;
	}
	add(" count=%ld failed=%ld", count, failed);
	end();

	begin("detached threads");
	count = 0;
	for (int i = 0; i < 1000; i++) {
		pthread_create(&t[0], attr, count_one, NULL);
		pthread_detach(t[0]);
	}
	for (long now = 0; now < 1000; sched_yield()) {
		pthread_mutex_lock(&m);
		now = count;
		pthread_mutex_unlock(&m);
	}
	add(" count=%ld", count);
	end();
}

static void mutexes(void)
{
	pthread_mutex_t *all = calloc(MUTEXES, sizeof(*all));
	long failed = 0;

	begin("mutexes");
	for (int i = 0; i < MUTEXES; i++)
		failed += pthread_mutex_init(&all[i], NULL);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < MUTEXES; i++)
			failed += pthread_mutex_lock(&all[i]);
		for (int i = 0; i < MUTEXES; i++)
			failed += pthread_mutex_trylock(&all[i]) != EBUSY;
		for (int i = 0; i < MUTEXES; i++)
			failed += pthread_mutex_unlock(&all[i]);
	}
	for (int i = 0; i < MUTEXES; i++)
		failed += pthread_mutex_destroy(&all[i]);
	add(" failed=%ld", failed);
	free(all);
	end();

	begin("nested sections");
	all = calloc(200, sizeof(*all));
	for (int i = 0; i < 200; i++)
		failed += pthread_mutex_lock(&all[i]);
	for (int i = 0; i < 200; i++)
		failed += pthread_mutex_unlock(&all[i]);
	add(" failed=%ld", failed);
	free(all);
	end();
}

/* The same bytes as one kind of object after another, never destroyed, sometimes still held. */
union any {
	pthread_mutex_t mutex;
	pthread_rwlock_t rwlock;
	pthread_cond_t cond;
	pthread_barrier_t barrier;
	pthread_spinlock_t spin;
	pthread_once_t once;
	sem_t sem;
	int word;
};

static __thread volatile int times_run;

static void once_routine(void)
{
	times_run++;
}

static long use_as(union any *o, int kind)
{
	struct timespec past = at(PAST, CLOCK_REALTIME);
	long failed = 0;

	memset(o, 0, sizeof(*o));
	switch (kind) {
	case 0: /* initialized by zeros */
		failed += pthread_mutex_lock(&o->mutex) + pthread_mutex_unlock(&o->mutex);
		break;
	case 1:
		failed += pthread_rwlock_rdlock(&o->rwlock) + pthread_rwlock_unlock(&o->rwlock);
		failed += pthread_rwlock_wrlock(&o->rwlock);
		break;
	case 2:
		pthread_mutex_lock(&m);
		failed += pthread_cond_signal(&o->cond);
		failed += pthread_cond_timedwait(&o->cond, &m, &past) != ETIMEDOUT;
		pthread_mutex_unlock(&m);
		break;
	case 3:
		failed += pthread_barrier_init(&o->barrier, NULL, 1);
		failed += pthread_barrier_wait(&o->barrier) != PTHREAD_BARRIER_SERIAL_THREAD;
		break;
	case 4:
		failed += pthread_spin_init(&o->spin, 0) + pthread_spin_lock(&o->spin);
		break;
	case 5:
		times_run = 0;
		failed += pthread_once(&o->once, once_routine) + (times_run != 1);
		break;
	case 6:
		failed += sem_init(&o->sem, 0, 2) + sem_wait(&o->sem) + sem_wait(&o->sem) +
			  (sem_trywait(&o->sem) != -1) + sem_post(&o->sem);
		break;
	default:
		failed += pthread_mutex_init(&o->mutex, NULL) + pthread_mutex_lock(&o->mutex);
		failed += pthread_mutex_trylock(&o->mutex) != EBUSY;
		break;
	}
	return failed;
}

static void *reuse(void *argument)
{
	union any *o = argument;
	long failed = 0;

	for (int i = 0; i < ROUNDS; i++)
		failed += use_as(o, i * 5 % 8) + use_as(o, i * 3 % 8);
	return (void *)failed;
}

static void memory(void)
{
	union any shared;
	union any *own = calloc(4, sizeof(*own));
	pthread_t t[4];
	void *result;
	long failed = 0;

	begin("memory used again");
	add(" %ld", (long)(intptr_t)reuse(&shared));
	for (int i = 0; i < 8; i++) /* each time another thread */
		add(" %ld", (long)(intptr_t)in_thread(reuse, &shared));
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, reuse, &own[i]);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &result);
		failed += (long)(intptr_t)result;
	}
	add(" %ld", failed);
	free(own);
	end();
}

static void *on_stack(void *argument)
{
	union any o;
	long failed = 0;

	for (int i = 0; i < 10; i++)
		failed += use_as(&o, (int)((intptr_t)argument + i) % 8);
	return (void *)failed;
}

static void stacks(void)
{
	long failed = 0;

	begin("objects on stacks used again");
	for (intptr_t i = 0; i < 300; i++)
		failed += (long)(intptr_t)in_thread(on_stack, (void *)i);
	add(" failed=%ld", failed);
	end();
}

int main(void)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	mutexes();
	memory();
	stacks();
	at_once(&attr);
	over_the_run(&attr);
	return 0;
}
