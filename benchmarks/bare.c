/* SPDX-License-Identifier: MIT */
/*
 * benchmarks/bare.c - the least that can be done at each lock operation, to compare cpa with
 *
 * Preloaded. BARE=call: call the original, no more. BARE=clock: read the clock after each lock and
 * before each unlock, and sum up. BARE=line: also hand a cache line over from who unlocks to who
 * locks. None of them knows what a component is, or survives what a real program may do: they are a
 * scale, no profiler.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LINES 65536u
#define WORDS 8u

#define REAL(function)                                       \
	({                                                   \
		static __typeof__(&(function)) real_;        \
                                                             \
		if (!real_)                                  \
			real_ = dlsym(RTLD_NEXT, #function); \
		real_;                                       \
	})

struct line {
	uint64_t word[WORDS];
} __attribute__((aligned(64)));

static struct line lines[LINES]; /* by the object's address */
static __thread struct line own __attribute__((tls_model("initial-exec")));
static int level; /* 0: call, 1: clock, 2: line */

static void __attribute__((constructor)) begin(void)
{
	const char *what = getenv("BARE");

	level = !what || !strcmp(what, "call") ? 0 : !strcmp(what, "clock") ? 1 : 2;
}

static struct line *line_of(const volatile void *object)
{
	return &lines[(((uintptr_t)object >> 3) * UINT64_C(0x9e3779b97f4a7c15)) >> 48];
}

static void stamp(void)
{
	uint64_t now = __builtin_ia32_rdtsc();

	own.word[1] += now - own.word[0];
	own.word[0] = now;
}

static void acquired(const volatile void *object)
{
	if (level > 0)
		stamp();
	if (level > 1) {
		const struct line *line = line_of(object);

		for (unsigned i = 1; i < WORDS; i++)
			if (line->word[i] > own.word[i])
				own.word[i] = line->word[i];
	}
}

static void release(const volatile void *object)
{
	if (level > 0)
		stamp();
	if (level > 1)
		*line_of(object) = own;
}

static int got(const volatile void *object, int ret)
{
	if (!ret)
		acquired(object);
	return ret;
}

int pthread_mutex_lock(pthread_mutex_t *m)
{
	if (level > 1)
		__builtin_prefetch(line_of(m));
	return got(m, REAL(pthread_mutex_lock)(m));
}

int pthread_mutex_trylock(pthread_mutex_t *m)
{
	return got(m, REAL(pthread_mutex_trylock)(m));
}

int pthread_mutex_unlock(pthread_mutex_t *m)
{
	release(m);
	return REAL(pthread_mutex_unlock)(m);
}

int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
	return got(l, REAL(pthread_rwlock_rdlock)(l));
}

int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
	return got(l, REAL(pthread_rwlock_wrlock)(l));
}

int pthread_rwlock_unlock(pthread_rwlock_t *l)
{
	release(l);
	return REAL(pthread_rwlock_unlock)(l);
}

int sem_wait(sem_t *s)
{
	return got(s, REAL(sem_wait)(s));
}

int sem_trywait(sem_t *s)
{
	return got(s, REAL(sem_trywait)(s));
}

int sem_post(sem_t *s)
{
	release(s);
	return REAL(sem_post)(s);
}

void omp_set_lock(void *lock);
void omp_unset_lock(void *lock);
void GOMP_critical_start(void);
void GOMP_critical_end(void);
void GOMP_barrier(void);
void GOMP_taskwait(void);
void GOMP_parallel(void (*f)(void *), void *data, unsigned threads, unsigned flags);
void GOMP_task(void (*f)(void *), void *data, void (*copy)(void *, void *), long size, long align,
	       _Bool deferred, unsigned flags, void **depend, int priority, void *detach);

void omp_set_lock(void *lock)
{
	REAL(omp_set_lock)(lock);
	acquired(lock);
}

void omp_unset_lock(void *lock)
{
	release(lock);
	REAL(omp_unset_lock)(lock);
}

void GOMP_critical_start(void)
{
	REAL(GOMP_critical_start)();
	acquired(lines);
}

void GOMP_critical_end(void)
{
	release(lines);
	REAL(GOMP_critical_end)();
}

void GOMP_barrier(void)
{
	release(&level);
	REAL(GOMP_barrier)();
	acquired(&level);
}

void GOMP_taskwait(void)
{
	release(&level);
	REAL(GOMP_taskwait)();
	acquired(&level);
}

/* A region or a task: its code and data. */
struct code {
	void (*f)(void *);
	void *data;
};

static void run(void *code)
{
	struct code *c = code;

	acquired(&level);
	c->f(c->data);
	release(&level);
}

void GOMP_parallel(void (*f)(void *), void *data, unsigned threads, unsigned flags)
{
	struct code c = { f, data };

	release(&level);
	REAL(GOMP_parallel)(run, &c, threads, flags);
	acquired(&level);
}

/* Of tasks without data: the others would need a block of their own. */
void GOMP_task(void (*f)(void *), void *data, void (*copy)(void *, void *), long size, long align,
	       _Bool deferred, unsigned flags, void **depend, int priority, void *detach)
{
	struct code c = { f, NULL };

	release(&level);
	if (size)
		REAL(GOMP_task)
	(f, data, copy, size, align, deferred, flags, depend, priority, detach);
	else REAL(GOMP_task)(run, &c, NULL, sizeof(c), sizeof(void *), deferred, flags, depend,
			     priority, detach);
}
