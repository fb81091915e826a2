/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/untimed.c - locks that one thread used many times before something else happens
 *
 * The profiler takes a shortcut for such locks. Whatever comes next must be as if it did not.
 */
#include "tests/conformance/case.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>

#define MANY 5000 /* uses, of some thousand cycles of work each: samples come in between */

static void work(void)
{
	for (volatile int i = 0; i < 1000; i++)
		;
}

static void use(pthread_mutex_t *m, int times)
{
	for (int i = 0; i < times; i++) {
		pthread_mutex_lock(m);
		work();
		pthread_mutex_unlock(m);
	}
}

static void use_by_try(pthread_mutex_t *m, int times)
{
	for (int i = 0; i < times; i++) {
		pthread_mutex_trylock(m);
		work();
		pthread_mutex_unlock(m);
	}
}

static void use_spin(pthread_spinlock_t *s, int times)
{
	for (int i = 0; i < times; i++) {
		pthread_spin_lock(s);
		work();
		pthread_spin_unlock(s);
	}
}

static const struct {
	const char *name;
	int type, protocol, robust;
} kinds[] = {
	{ "normal", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, 0 },
	{ "recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, 0 },
	{ "errorcheck", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, 0 },
	{ "adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_PRIO_NONE, 0 },
	{ "inherit", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, 0 },
	{ "inherit errorcheck", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_INHERIT, 0 },
	{ "errorcheck robust", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, 1 },
	{ "recursive robust", PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, 1 },
	{ "normal robust", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, 1 },
	{ "errorcheck inherit robust", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_INHERIT, 1 },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static pthread_mutex_t *m;
static pthread_mutex_t another = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static volatile int step;

static void make(unsigned kind)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, kinds[kind].type);
	pthread_mutexattr_setprotocol(&attr, kinds[kind].protocol);
	pthread_mutexattr_setrobust(&attr, kinds[kind].robust);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	must(!pthread_mutex_init(m, &attr), "pthread_mutex_init");
	pthread_mutexattr_destroy(&attr);
}

static void *try_it(void *argument)
{
	(void)argument;
	DO("other tries", pthread_mutex_trylock(m));
	return NULL;
}

static void *unlock_it(void *argument)
{
	(void)argument;
	DO("other unlocks", pthread_mutex_unlock(m));
	return NULL;
}

static void *use_it(void *argument)
{
	(void)argument;
	use(m, MANY);
	return NULL;
}

static void *keep_it(void *argument)
{
	(void)argument;
	use(m, MANY);
	DO("lock", pthread_mutex_lock(m));
	return NULL; /* with the lock */
}

static void again(unsigned kind)
{
	struct timespec soon = in_ms(CLOCK_REALTIME, 5);
	bool recursive = kinds[kind].type == PTHREAD_MUTEX_RECURSIVE;

	begin("%s: its user asks again", kinds[kind].name);
	use(m, MANY);
	DO("lock", pthread_mutex_lock(m));
	DO("try", pthread_mutex_trylock(m));
	DO("timed", pthread_mutex_timedlock(m, &soon));
	if (kinds[kind].type == PTHREAD_MUTEX_ERRORCHECK || recursive)
		DO("lock", pthread_mutex_lock(m));
	in_thread(try_it, NULL);
	DO("destroy", pthread_mutex_destroy(m));
	for (int i = recursive ? 4 : 1; i-- > 0;)
		DO("unlock", pthread_mutex_unlock(m));
	if (kinds[kind].type == PTHREAD_MUTEX_ERRORCHECK || recursive)
		DO("unlock", pthread_mutex_unlock(m));
	use(m, MANY);
	DO("try", pthread_mutex_trylock(m));
	DO("unlock", pthread_mutex_unlock(m));
	end();
}

static void others(unsigned kind)
{
	begin("%s: another comes", kinds[kind].name);
	use(m, MANY);
	DO("lock", pthread_mutex_lock(m));
	in_thread(try_it, NULL);
	if (kinds[kind].type == PTHREAD_MUTEX_ERRORCHECK || kinds[kind].robust ||
	    kinds[kind].type == PTHREAD_MUTEX_RECURSIVE)
		in_thread(unlock_it, NULL);
	DO("unlock", pthread_mutex_unlock(m));
	in_thread(use_it, NULL);
	use(m, MANY);
	DO("lock", pthread_mutex_lock(m));
	DO("unlock", pthread_mutex_unlock(m));
	end();
}

/* A thread or a child process ends with the lock. */
static void dies(unsigned kind)
{
	int status;
	pid_t child;

	if (!kinds[kind].robust)
		return;
	begin("%s: its user ends", kinds[kind].name);
	in_thread(keep_it, NULL);
	DO("lock", pthread_mutex_lock(m));
	DO("consistent", pthread_mutex_consistent(m));
	DO("unlock", pthread_mutex_unlock(m));
	end();
	begin("%s: a child ends with it", kinds[kind].name);
	use(m, MANY);
	use_by_try(m, MANY);
	child = fork();
	if (!child) {
		pthread_mutex_lock(m);
		_exit(0);
	}
	waitpid(child, &status, 0);
	DO("lock", pthread_mutex_lock(m));
	DO("unlock", pthread_mutex_unlock(m));
	DO("lost", pthread_mutex_lock(m));
	DO("lost", pthread_mutex_lock(m));
	DO("try", pthread_mutex_trylock(m));
	end();
}

static void forks(unsigned kind)
{
	int status = 0;
	pid_t child;

	if (kinds[kind].protocol != PTHREAD_PRIO_NONE || kinds[kind].robust)
		return;
	begin("%s: fork while held", kinds[kind].name);
	use(m, MANY);
	pthread_mutex_lock(m);
	child = fork();
	if (!child) {
		int ret = pthread_mutex_trylock(m) == EBUSY ? 1 : 2;

		_exit(ret);
	}
	waitpid(child, &status, 0);
	DO("child", WEXITSTATUS(status));
	DO("unlock", pthread_mutex_unlock(m));
	end();
}

static void *signaller(void *argument)
{
	(void)argument;
	await(&step, 1);
	pthread_mutex_lock(m);
	use(&another, MANY);
	step = 2;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(m);
	use(m, MANY);
	return NULL;
}

static void waits(unsigned kind)
{
	struct timespec soon = in_ms(CLOCK_REALTIME, 5);
	bool recursive = kinds[kind].type == PTHREAD_MUTEX_RECURSIVE;
	pthread_t t;

	if (kinds[kind].robust)
		return;
	begin("%s: condition wait", kinds[kind].name);
	step = 0;
	must(!pthread_create(&t, NULL, signaller, NULL), "pthread_create");
	use(m, MANY);
	pthread_mutex_lock(m);
	DO("timed", pthread_cond_timedwait(&cond, m, &soon));
	set(&step, 1);
	while (step != 2)
		DO("wait", pthread_cond_wait(&cond, m) * (step == 2));
	DO("try", pthread_mutex_trylock(m));
	if (recursive)
		DO("unlock", pthread_mutex_unlock(m));
	DO("unlock", pthread_mutex_unlock(m));
	use(m, MANY);
	pthread_join(t, NULL);
	DO("lock", pthread_mutex_lock(m));
	DO("unlock", pthread_mutex_unlock(m));
	end();
}

/* The same memory is one thing after the other. */
static void reuse(void)
{
	static union {
		pthread_mutex_t mutex;
		pthread_spinlock_t spin;
		pthread_rwlock_t rwlock;
		mtx_t mtx;
		sem_t sem;
	} u;

	begin("memory is used again");
	for (int round = 0; round < 3; round++) {
		DO("mutex", pthread_mutex_init(&u.mutex, NULL));
		use(&u.mutex, MANY);
		if (round != 1)
			DO("destroy", pthread_mutex_destroy(&u.mutex));
		DO("spin", pthread_spin_init(&u.spin, 0));
		use_spin(&u.spin, MANY);
		DO("try", pthread_spin_trylock(&u.spin));
		DO("again", pthread_spin_trylock(&u.spin));
		DO("unlock", pthread_spin_unlock(&u.spin));
		if (round != 2)
			DO("destroy", pthread_spin_destroy(&u.spin));
		memset(&u, 0, sizeof(u));
		use(&u.mutex, MANY);
		DO("mtx", mtx_init(&u.mtx, mtx_recursive));
		for (int i = 0; i < MANY; i++) {
			mtx_lock(&u.mtx);
			mtx_unlock(&u.mtx);
		}
		DO("lock", mtx_lock(&u.mtx));
		DO("try", mtx_trylock(&u.mtx));
		mtx_destroy(&u.mtx);
		DO("rwlock", pthread_rwlock_init(&u.rwlock, NULL));
		DO("read", pthread_rwlock_rdlock(&u.rwlock));
		DO("unlock", pthread_rwlock_unlock(&u.rwlock));
		DO("sem", sem_init(&u.sem, 0, 1));
		DO("wait", sem_wait(&u.sem));
	}
	end();
}

#define CROWD 700 /* more than any cache of addresses has places */

static void crowd(void)
{
	static pthread_mutex_t crowd_of[CROWD];
	long n = 0;

	begin("many mutexes in turn");
	for (int i = 0; i < CROWD; i++)
		pthread_mutex_init(&crowd_of[i], NULL);
	for (int round = 0; round < 200; round++) {
		for (int i = 0; i < CROWD; i++) {
			int two = (i + round) % CROWD;

			n += !pthread_mutex_lock(&crowd_of[i]);
			n += !pthread_mutex_trylock(&crowd_of[two]);
			n += two == i || !pthread_mutex_unlock(&crowd_of[two]);
			n += !pthread_mutex_unlock(&crowd_of[i]);
		}
	}
	add(" %ld", n);
	end();
}

static sem_t posted;
static volatile long handled;

static void handler(int sig)
{
	(void)sig;
	sem_post(&posted);
	handled++;
}

static void signals(void)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct itimerval every = { { 0, 300 }, { 0, 300 } }, never = { 0 };
	long waited = 0, value = 0;

	begin("a handler posts in between");
	sem_init(&posted, 0, 0);
	pthread_mutex_init(m, NULL);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	while (handled < 500) {
		for (int i = 0; i < 200; i++) {
			pthread_mutex_lock(m);
			pthread_mutex_lock(&another);
			value++;
			pthread_mutex_unlock(&another);
			pthread_mutex_unlock(m);
		}
		while (!sem_trywait(&posted))
			waited++;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	while (!sem_trywait(&posted))
		waited++;
	add(" waits-posts=%ld", waited - handled);
	DO("try", pthread_mutex_trylock(m));
	DO("unlock", pthread_mutex_unlock(m));
	end();
}

static long shared_value;
static int bursts_of, burst_of;

static void *bursts(void *argument)
{
	(void)argument;
	for (int burst = 0; burst < bursts_of; burst++) {
		for (int i = 0; i < burst_of; i++) {
			pthread_mutex_lock(m);
			shared_value++;
			pthread_mutex_unlock(m);
		}
		sched_yield();
	}
	return NULL;
}

static void alternate(void)
{
	/* Few bursts: where others are ready to run, each yield takes as long as their time slices. */
	static const int numbers[] = { 100, 100, 20, 4 }, lengths[] = { 1, 100, 1000, 10000 };

	for (int i = 0; i < 4; i++) {
		pthread_t t[2];

		begin("two threads in bursts of %d", lengths[i]);
		bursts_of = numbers[i];
		burst_of = lengths[i];
		shared_value = 0;
		must(!pthread_create(&t[0], NULL, bursts, NULL), "pthread_create");
		must(!pthread_create(&t[1], NULL, bursts, NULL), "pthread_create");
		pthread_join(t[0], NULL);
		pthread_join(t[1], NULL);
		add(" %ld", shared_value);
		end();
	}
}

int main(void)
{
	m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(m != MAP_FAILED, "mmap");
	for (unsigned kind = 0; kind < KINDS; kind++) {
		static void (*const cases[])(unsigned) = { again, others, forks, waits, dies };

		for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			make(kind);
			cases[i](kind);
			pthread_mutex_destroy(m);
		}
	}
	reuse();
	crowd();
	signals();
	alternate();
	return 0;
}
