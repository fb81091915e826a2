/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/habits.c - what programs do that no standard promises and glibc lets them do
 *
 * Mutexes that one thread locks and another unlocks; jumps out of signal handlers that may have
 * interrupted any of our calls at any instruction; handlers on alternate stacks that lock and post
 * while other threads do; all memory locked, also that to come.
 */
#include "tests/conformance/case.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#define TURNS 5000
#define JUMPS 500

static pthread_mutex_t here, there;
static long turns;

static void *take_turns(void *argument)
{
	for (int i = 0; i < TURNS; i++) {
		pthread_mutex_lock(&there);
		turns++;
		pthread_mutex_unlock(&here);
	}
	return argument;
}

/* A mutex as a binary semaphore: who unlocks it has never locked it. */
static void unlocked_by_others(const char *name, int type)
{
	pthread_mutexattr_t attr;
	pthread_t t;
	long failed = 0;

	begin("%s mutexes that another thread unlocks", name);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, type);
	pthread_mutex_init(&here, &attr);
	pthread_mutex_init(&there, &attr);
	turns = 0;
	failed += pthread_mutex_lock(&here) + pthread_mutex_lock(&there);
	must(!pthread_create(&t, NULL, take_turns, NULL), "pthread_create");
	for (int i = 0; i < TURNS; i++)
		failed += pthread_mutex_unlock(&there) + pthread_mutex_lock(&here);
	pthread_join(t, NULL);
	failed += pthread_mutex_unlock(&here);
	/* Many times by one thread, so that it seems to be its own; then by another. */
	for (int i = 0; i < TURNS; i++)
		failed += pthread_mutex_lock(&here) + pthread_mutex_unlock(&here);
	failed += pthread_mutex_lock(&here) + pthread_mutex_unlock(&there);
	must(!pthread_create(&t, NULL, take_turns, NULL), "pthread_create");
	for (int i = 0; i < TURNS; i++)
		failed +=
			pthread_mutex_lock(&here) + (i < TURNS - 1 && pthread_mutex_unlock(&there));
	pthread_join(t, NULL);
	add(" turns=%ld failed=%ld", turns, failed);
	end();
}

static sigjmp_buf place;
static volatile int jumped;
static sem_t posted;
static pthread_cond_t signaled = PTHREAD_COND_INITIALIZER;

static void jump(int sig)
{
	(void)sig;
	jumped++;
	siglongjmp(place, 1);
}

static void nothing(void)
{
}

/* The objects are new each time: what a jump leaves of one is nobody's. */
static void call(int what)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
	pthread_once_t once = PTHREAD_ONCE_INIT;
	struct timespec past = at(PAST, CLOCK_REALTIME);
	pthread_barrier_t barrier;
	sem_t sem;

	switch (what) {
	case 0:
		sem_post(&posted);
		sem_trywait(&posted);
		break;
	case 1:
		pthread_cond_signal(&signaled);
		break;
	case 2:
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		break;
	case 3:
		pthread_rwlock_rdlock(&rwlock);
		pthread_rwlock_unlock(&rwlock);
		break;
	case 4:
		pthread_once(&once, nothing);
		break;
	case 5:
		pthread_barrier_init(&barrier, NULL, 1);
		pthread_barrier_wait(&barrier);
		break;
	default:
		sem_init(&sem, 0, 0);
		sem_timedwait(&sem, &past);
		clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &past, NULL);
	}
}

static void *lock_often(void *argument)
{
	long failed = 0;

	for (int i = 0; i < 2000; i++)
		failed += pthread_mutex_lock(&here) + pthread_mutex_unlock(&here);
	return (void *)(failed + (intptr_t)argument);
}

static void jumps(const char *name, int what)
{
	struct sigaction action = { .sa_handler = jump };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	timer_t timer;
	pthread_t t[2];
	void *result;

	begin("jumps out of %s", name);
	sem_init(&posted, 0, 0);
	pthread_mutex_init(&here, NULL);
	jumped = 0;
	sigaction(SIGALRM, &action, NULL);
	must(!timer_create(CLOCK_MONOTONIC, &event, &timer), "timer_create");
	while (jumped < JUMPS) {
		if (!sigsetjmp(place, 1)) {
			struct itimerspec once = { .it_value.tv_nsec =
							   20000 + jumped * 7919 % 100000 };

			timer_settime(timer, 0, &once, NULL);
			for (;;)
				call(what);
		}
	}
	timer_delete(timer);
	signal(SIGALRM, SIG_IGN);
	for (int i = 0; i < 2; i++)
		must(!pthread_create(&t[i], NULL, lock_often, NULL), "pthread_create");
	lock_often(NULL);
	for (int i = 0; i < 2; i++) {
		pthread_join(t[i], &result);
		add(" %ld", (long)(intptr_t)result);
	}
	add(" jumped=%d", jumped);
	end();
}

static volatile int handled;

static void lock_and_post(int sig)
{
	(void)sig;
	/* The thread that the signal interrupts never has them. */
	pthread_mutex_lock(&there);
	pthread_mutex_unlock(&there);
	sem_post(&posted);
	pthread_cond_broadcast(&signaled);
	handled++;
}

static void *lock_there(void *argument)
{
	for (int i = 0; i < TURNS; i++) {
		pthread_mutex_lock(&there);
		pthread_cond_signal(&signaled);
		pthread_mutex_unlock(&there);
		sem_trywait(&posted);
	}
	return argument;
}

static void alternate_stacks(void)
{
	/* Room for one signal, and as much for the handler as most have. */
	size_t size = (size_t)sysconf(_SC_MINSIGSTKSZ) + 4096;
	struct sigaction action = { .sa_handler = lock_and_post,
				    .sa_flags = SA_ONSTACK | SA_RESTART };
	stack_t stack = { .ss_sp = malloc(size), .ss_size = size };
	stack_t none = { .ss_flags = SS_DISABLE };
	pthread_t t;

	begin("handlers on an alternate stack lock and post");
	pthread_mutex_init(&there, NULL);
	sem_init(&posted, 0, 0);
	DO("set", sigaltstack(&stack, NULL));
	sigaction(SIGUSR1, &action, NULL);
	must(!pthread_create(&t, NULL, lock_there, NULL), "pthread_create");
	for (int i = 0; i < TURNS; i++)
		raise(SIGUSR1);
	pthread_join(t, NULL);
	add(" handled=%d", handled);
	DO("unset", sigaltstack(&none, NULL));
	free(stack.ss_sp);
	end();
}

static void locked_memory(void)
{
	pthread_t t[8];
	void *result;

	begin("all memory is locked");
	/* What others may lock is a matter of limits, which count our file's address space. */
	if (!geteuid())
		DO("lock", mlockall(MCL_CURRENT | MCL_FUTURE));
	for (int i = 0; i < 8; i++)
		must(!pthread_create(&t[i], NULL, lock_often, NULL), "pthread_create");
	for (int i = 0; i < 8; i++) {
		pthread_join(t[i], &result);
		add(" %ld", (long)(intptr_t)result);
	}
	DO("unlock", munlockall());
	end();
}

int main(void)
{
	static const char *const calls[] = { "sem_post and sem_trywait",
					     "pthread_cond_signal",
					     "mutexes",
					     "rwlocks",
					     "pthread_once",
					     "barriers",
					     "waits that are over" };

	unlocked_by_others("normal", PTHREAD_MUTEX_NORMAL);
	unlocked_by_others("adaptive", PTHREAD_MUTEX_ADAPTIVE_NP);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		jumps(calls[i], (int)i);
	alternate_stacks();
	locked_memory();
	return 0;
}
