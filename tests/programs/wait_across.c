/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/wait_across.c - a wait across borders of parts of the run, whose length in the parts is known
 *
 *	wait_across mutex|timed|read|write|semaphore STEPS
 *
 * Of STEPS the letter S starts a part, P ends it, W lets the thread `waiter` begin to wait, H has it take another lock in
 * a signal handler, and R ends its wait. Prints for how long it waited in parts, in ns: at least and at most.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/cpa.h"
#include "tests/conformance/asleep.h"

#define PARTS	8
#define STEP_NS (5 * 1000 * 1000)

struct span {
	int64_t from, to; /* ns */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static bool timed, reads, writes, posts;
static int go, known, tid, handled;
static struct span widest[PARTS], narrowest[PARTS]; /* that a part may have had */
static struct span longest, shortest;		    /* that the wait may have had */
static unsigned parts;

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int64_t overlap(struct span a, struct span b)
{
	int64_t from = a.from > b.from ? a.from : b.from, to = a.to < b.to ? a.to : b.to;

	return to > from ? to - from : 0;
}

static void take(void)
{
	struct timespec far;

	clock_gettime(CLOCK_REALTIME, &far);
	far.tv_sec += 1000;
	if (posts)
		sem_wait(&semaphore);
	else if (reads)
		pthread_rwlock_rdlock(&rwlock);
	else if (writes)
		pthread_rwlock_wrlock(&rwlock);
	else if (timed)
		pthread_mutex_timedlock(&mutex, &far);
	else
		pthread_mutex_lock(&mutex);
}

static void let(void)
{
	if (posts)
		sem_post(&semaphore);
	else if (reads || writes)
		pthread_rwlock_unlock(&rwlock);
	else
		pthread_mutex_unlock(&mutex);
}

static void handler(int signal)
{
	static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;

	(void)signal;
	pthread_mutex_lock(&own);
	pthread_mutex_unlock(&own);
	__atomic_store_n(&handled, 1, __ATOMIC_RELEASE);
}

static void *waiter(void *unused)
{
	sem_t own;

	sem_init(&own, 0, 1);
	sem_wait(&own); /* an event: cpa knows the thread */
	__atomic_store_n(&known, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
		sched_yield();
	longest.from = now_ns();
	__atomic_store_n(&tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	take();
	longest.to = now_ns();
	let();
	return unused;
}

static void start(void)
{
	widest[parts].from = now_ns();
	CPA_START();
	narrowest[parts].from = now_ns();
}

static void stop(void)
{
	narrowest[parts].to = now_ns();
	CPA_STOP();
	widest[parts++].to = now_ns();
}

static void step(char what, pthread_t thread)
{
	int64_t until = now_ns() + STEP_NS;

	while (now_ns() < until)
		sched_yield();
	if (what == 'S') {
		start();
	} else if (what == 'P') {
		stop();
	} else if (what == 'W') {
		__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
		await_asleep(&tid);
		shortest.from = now_ns();
	} else if (what == 'H') {
		__atomic_store_n(&handled, 0, __ATOMIC_RELAXED);
		pthread_kill(thread, SIGUSR1);
		while (!__atomic_load_n(&handled, __ATOMIC_ACQUIRE))
			sched_yield();
	} else {
		shortest.to = now_ns();
		let();
		pthread_join(thread, NULL);
	}
}

int main(int argc, char **argv)
{
	int64_t least = 0, most = 0;
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	pthread_t thread;

	if (argc != 3)
		return 2;
	timed = strcmp(argv[1], "timed") == 0;
	reads = strcmp(argv[1], "read") == 0;
	writes = strcmp(argv[1], "write") == 0;
	posts = strcmp(argv[1], "semaphore") == 0;
	sem_init(&semaphore, 0, 1);
	sigaction(SIGUSR1, &action, NULL);
	start();
	if (reads)
		pthread_rwlock_wrlock(&rwlock);
	else
		take();
	pthread_create(&thread, NULL, waiter, NULL);
	while (!__atomic_load_n(&known, __ATOMIC_ACQUIRE))
		sched_yield();
	stop();
	for (const char *what = argv[2]; *what && parts < PARTS; what++)
		step(*what, thread);
	for (unsigned i = 0; i < parts; i++) {
		least += overlap(narrowest[i], shortest);
		most += overlap(widest[i], longest);
	}
	printf("%lld %lld\n", (long long)least, (long long)most);
	return 0;
}
