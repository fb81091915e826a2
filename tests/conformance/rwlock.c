/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/rwlock.c - every kind of read-write lock, every documented result
 */
#include "tests/conformance/case.h"

static const char *const kinds[] = { "prefer readers", "prefer writers",
				     "prefer writers, not recursive" };

static char name[128];
static pthread_rwlock_t l;

static void make(int kind, int shared)
{
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, kind);
	pthread_rwlockattr_setpshared(&attr, shared);
	must(!pthread_rwlock_init(&l, &attr), "pthread_rwlock_init");
	pthread_rwlockattr_destroy(&attr);
	snprintf(name, sizeof(name), "%s%s", kinds[kind], shared ? ", shared" : "");
}

static int timed(bool write, int when)
{
	struct timespec t = at(when, CLOCK_REALTIME);

	return write ? pthread_rwlock_timedwrlock(&l, &t) : pthread_rwlock_timedrdlock(&l, &t);
}

static int clocked(bool write, int clock, int when)
{
	struct timespec t = at(when, clocks[clock].id);

	return write ? pthread_rwlock_clockwrlock(&l, clocks[clock].id, &t) :
		       pthread_rwlock_clockrdlock(&l, clocks[clock].id, &t);
}

#define READ	  DO("read", pthread_rwlock_rdlock(&l))
#define WRITE	  DO("write", pthread_rwlock_wrlock(&l))
#define TRY_READ  DO("try read", pthread_rwlock_tryrdlock(&l))
#define TRY_WRITE DO("try write", pthread_rwlock_trywrlock(&l))
#define UNLOCK	  DO("unlock", pthread_rwlock_unlock(&l))

static void alone(void)
{
	begin("%s: alone", name);
	READ;
	READ;
	TRY_READ;
	TRY_WRITE;
	UNLOCK;
	UNLOCK;
	UNLOCK;
	WRITE;
	READ; /* EDEADLK */
	WRITE;
	TRY_READ;
	TRY_WRITE;
	DO("timed read", timed(false, PAST));
	DO("timed write", timed(true, PAST));
	UNLOCK;
	TRY_WRITE;
	UNLOCK;
	TRY_READ;
	UNLOCK;
	end();
	begin("%s: times when free", name);
	for (int i = 0; i < 2 * WHENS; i++) {
		int ret;

		errno = UNTOUCHED;
		ret = timed(i / WHENS, i % WHENS);
		note(when_names[i % WHENS], ret, errno);
		if (!ret)
			UNLOCK;
	}
	end();
	begin("%s: clocks when free", name);
	for (int i = 0; i < 2 * WHENS * (int)CLOCKS; i++) {
		int ret = clocked(i % 2, i / 2 % (int)CLOCKS, i / 2 / (int)CLOCKS);

		add(" %d", ret);
		if (!ret)
			pthread_rwlock_unlock(&l);
	}
	end();
}

static void *others(void *argument)
{
	bool readable = argument != NULL;

	TRY_READ;
	if (readable)
		UNLOCK;
	TRY_WRITE;
	for (int i = 0; i < 2 * WHENS; i++) {
		bool write = i >= WHENS;

		if (i % WHENS == FAR || (!write && readable))
			continue;
		DO(when_names[i % WHENS], timed(write, i % WHENS));
	}
	for (int i = 0; i < 2 * (int)CLOCKS; i++) {
		bool write = i % 2;

		if (!write && readable)
			continue;
		DO(clocks[i / 2].name, clocked(write, i / 2, SOON));
		DO("invalid", clocked(write, i / 2, NEGATIVE_NS));
	}
	return NULL;
}

static void contended(void)
{
	begin("%s: written by another", name);
	WRITE;
	in_thread(others, NULL);
	UNLOCK;
	end();
	begin("%s: read by another", name);
	READ;
	in_thread(others, &l);
	UNLOCK;
	end();
}

static volatile int arrived, written;

static void *mix(void *argument)
{
	int me = (int)(intptr_t)argument, ret = 0;

	__atomic_fetch_add(&arrived, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 300; i++) {
		bool write = (i + me) % 4 == 0;

		ret |= i % 3 == 0 ? timed(write, FAR) :
		       i % 3 == 1 ? clocked(write, 1, FAR) :
		       write	  ? pthread_rwlock_wrlock(&l) :
				    pthread_rwlock_rdlock(&l);
		if (write)
			written++;
		ret |= pthread_rwlock_unlock(&l);
	}
	return (void *)(intptr_t)ret;
}

static void many(void)
{
	pthread_t t[4];
	void *result;

	arrived = 0;
	written = 0;
	begin("%s: readers and writers", name);
	WRITE;
	for (int i = 0; i < 4; i++)
		must(!pthread_create(&t[i], NULL, mix, (void *)(intptr_t)i), "pthread_create");
	await(&arrived, 4);
	sleep_ms(2);
	UNLOCK;
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &result);
		add(" %d", (int)(intptr_t)result);
	}
	add(" written=%d", written);
	DO("destroy", pthread_rwlock_destroy(&l));
	end();
}

/* One thread may hold the lock for reading very often, and many locks at once. */
static void deep(void)
{
	pthread_rwlock_t locks[40];
	long failed = 0;

	for (int i = 0; i < 40; i++) {
		failed += pthread_rwlock_init(&locks[i], NULL);
		failed += pthread_rwlock_rdlock(&locks[i]);
	}
	for (int i = 0; i < 40; i++)
		failed += pthread_rwlock_unlock(&locks[i]) + pthread_rwlock_destroy(&locks[i]);
	begin("40 held for reading");
	add(" failed=%ld", failed);
	end();
	make(0, 0);
	for (int i = 0; i < 1000; i++)
		failed += pthread_rwlock_rdlock(&l);
	begin("1000 times for reading");
	add(" failed=%ld", failed);
	TRY_WRITE;
	for (int i = 0; i < 1000; i++)
		failed += pthread_rwlock_unlock(&l);
	add(" failed=%ld", failed);
	TRY_WRITE;
	UNLOCK;
	end();
}

static pthread_rwlock_t constant = PTHREAD_RWLOCK_INITIALIZER;

int main(void)
{
	for (int kind = 0; kind < 3; kind++) {
		for (int shared = 0; shared < 2; shared++) {
			make(kind, shared);
			alone();
			contended();
			many();
		}
	}
	deep();
	begin("static initializer");
	DO("read", pthread_rwlock_rdlock(&constant));
	DO("try write", pthread_rwlock_trywrlock(&constant));
	DO("unlock", pthread_rwlock_unlock(&constant));
	DO("destroy", pthread_rwlock_destroy(&constant));
	end();
	return 0;
}
