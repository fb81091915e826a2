/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/parts.c - parts of a run whose critical path is known
 *
 *	parts NAME       one of those below; to be run with CPA_START=off
 *
 * Prints the length of the critical path of the parts, in ms. What lies between them is work and
 * sleep that must show nowhere. Waits go on across a start, a stop, or both; locks are held there.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "preload/cpa.h"
#include "tests/conformance/asleep.h"
#include "tests/programs/burn.h"

#define ROWS	 1030 /* more than are kept of threads that ended: shadow/layout.h */
#define WHILE_MS 20   /* until the other thread waits; nobody profiles it */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem;
static int turn;

static __attribute__((noinline)) void work_in_part(int ms)
{
	burn_ms(ms);
	__asm__ volatile("");
}

static __attribute__((noinline)) void work_between(void)
{
	burn_ms(WHILE_MS);
	usleep(WHILE_MS * 1000);
}

static void pause_profile(void)
{
	CPA_STOP();
	work_between();
	CPA_START();
}

/* Repeated, and nothing but main. */
static int alone(void)
{
	for (int i = 0; i < 3; i++) {
		work_between();
		CPA_START();
		CPA_START();
		work_in_part(30);
		CPA_STOP();
		CPA_STOP();
	}
	work_between();
	return 90;
}

static void *lock_worker(void *unused)
{
	pthread_mutex_lock(&mutex);
	work_in_part(30);
	pause_profile();
	work_in_part(20);
	pthread_mutex_unlock(&mutex);
	return unused;
}

/* The lock is held by main when it begins, by the worker when it stops and begins again. */
static int lock(void)
{
	pthread_t worker;

	pthread_mutex_lock(&mutex);
	pthread_create(&worker, NULL, lock_worker, NULL);
	work_between();
	CPA_START();
	work_in_part(40);
	pthread_mutex_unlock(&mutex);
	pthread_join(worker, NULL);
	return 90;
}

static void await_turn(int wanted)
{
	pthread_mutex_lock(&mutex);
	while (turn != wanted)
		pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
}

static void give_turn(int to)
{
	pthread_mutex_lock(&mutex);
	turn = to;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&mutex);
}

static void *cond_worker(void *unused)
{
	await_turn(1);
	work_in_part(30);
	give_turn(2);
	await_turn(3);
	work_in_part(10);
	return unused;
}

static int condition(void)
{
	pthread_t worker;

	pthread_create(&worker, NULL, cond_worker, NULL);
	work_between();
	CPA_START();
	work_in_part(40);
	give_turn(1);
	await_turn(2);
	pause_profile();
	work_in_part(20);
	give_turn(3);
	pthread_join(worker, NULL);
	return 100;
}

static void *barrier_worker(void *unused)
{
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	work_in_part(15);
	return unused;
}

static int meet(void)
{
	pthread_t worker;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&worker, NULL, barrier_worker, NULL);
	work_between();
	CPA_START();
	work_in_part(40);
	pthread_barrier_wait(&barrier);
	work_in_part(10);
	pause_profile();
	work_in_part(20);
	pthread_barrier_wait(&barrier);
	pthread_join(worker, NULL);
	return 85;
}

static void *sem_worker(void *unused)
{
	for (int i = 0; i < 3; i++)
		sem_wait(&sem);
	work_in_part(30);
	give_turn(1);
	for (int i = 0; i < 2; i++)
		sem_wait(&sem);
	work_in_part(15);
	return unused;
}

/* Posts are made, and taken, between the parts. */
static int semaphore(void)
{
	pthread_t worker;

	sem_init(&sem, 0, 0);
	sem_post(&sem);
	sem_post(&sem);
	pthread_create(&worker, NULL, sem_worker, NULL);
	work_between();
	CPA_START();
	work_in_part(40);
	sem_post(&sem);
	await_turn(1);
	CPA_STOP();
	work_between();
	sem_post(&sem);
	work_between();
	CPA_START();
	work_in_part(20);
	sem_post(&sem);
	pthread_join(worker, NULL);
	return 105;
}

static void *burner(void *unused)
{
	work_in_part(25);
	return unused;
}

/* Created in a part and joined between, created between and joined in a part. */
static int threads(void)
{
	pthread_t a, b, c;

	work_between();
	CPA_START();
	pthread_create(&a, NULL, burner, NULL);
	pthread_create(&b, NULL, burner, NULL);
	work_in_part(35);
	pthread_join(b, NULL);
	CPA_STOP();
	pthread_join(a, NULL);
	sem_init(&sem, 0, 2); /* before there is a waiter: it would not see the posts */
	pthread_create(&c, NULL, sem_worker, NULL);
	work_between();
	CPA_START();
	work_in_part(20);
	sem_post(&sem);
	await_turn(1);
	sem_post(&sem);
	sem_post(&sem);
	pthread_join(c, NULL);
	return 35 + 20 + 30 + 15;
}

static volatile int sleeper_tid;

static void *asleep_worker(void *unused)
{
	sleeper_tid = gettid();
	sem_wait(&sem);
	work_in_part(30);
	return unused;
}

/* The worker sleeps through more changes than there are borders kept. */
static int often(void)
{
	pthread_t worker;

	work_between();
	CPA_START();
	sem_init(&sem, 0, 0);
	pthread_create(&worker, NULL, asleep_worker, NULL);
	await_asleep(&sleeper_tid);
	work_in_part(40);
	for (int i = 0; i < 40; i++) {
		CPA_STOP();
		CPA_START();
	}
	sem_post(&sem);
	pthread_join(worker, NULL);
	return 70;
}

static volatile int part_began, part_ended;
static int enough; /* threads that have worked in the part */

static void *eventless_worker(void *unused)
{
	while (!part_began)
		;
	work_in_part(100); /* many periods of the sampler's timer */
	__atomic_fetch_add(&enough, 1, __ATOMIC_SEQ_CST);
	while (!part_ended)
		;
	return unused;
}

/* Threads that are created between the parts, and have no event in the next one. */
static int eventless(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, eventless_worker, NULL);
	pthread_create(&b, NULL, eventless_worker, NULL);
	CPA_START();
	part_began = 1;
	while (__atomic_load_n(&enough, __ATOMIC_SEQ_CST) < 2)
		usleep(1000);
	CPA_STOP();
	part_ended = 1;
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 100;
}

/* Signals come late to it: when the part has ended. */
static void *hampered_worker(void *unused)
{
	const struct timespec pause = { 0, 1000000 };
	sigset_t all, before;

	while (!part_began)
		;
	work_in_part(20); /* its sampler's signal has told it of the part */
	syscall(SYS_nanosleep, &pause, NULL);
	pthread_mutex_lock(&mutex); /* cpa looks whether it gets samples */
	pthread_mutex_unlock(&mutex);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	burn_ms(50); /* longer than a signal may be late */
	syscall(SYS_nanosleep, &pause, NULL);
	__atomic_fetch_add(&enough, 1, __ATOMIC_SEQ_CST);
	while (!part_ended)
		;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	burn_ms(20);
	return unused;
}

static int hampered(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, hampered_worker, NULL);
	CPA_START();
	part_began = 1;
	while (!__atomic_load_n(&enough, __ATOMIC_SEQ_CST))
		usleep(1000);
	CPA_STOP();
	part_ended = 1;
	pthread_join(thread, NULL);
	return 70;
}

static void *brief(void *unused)
{
	return unused;
}

static void *late_worker(void *unused)
{
	work_in_part(20);
	return unused;
}

static void await_alone(void)
{
	struct stat s;

	while (!stat("/proc/self/task", &s) && s.st_nlink > 3)
		usleep(100); /* a thread has not ended */
}

/* More detached threads than there are rows for, one after another, are created and end between the parts. */
static int passing(void)
{
	pthread_attr_t detached;
	pthread_t next;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	CPA_START();
	work_in_part(10);
	pthread_create(&next, NULL, late_worker, NULL);
	pthread_join(next, NULL);
	CPA_STOP();
	for (int i = 0; i < ROWS; i++) {
		pthread_create(&next, i % 2 ? &detached : NULL, brief, NULL);
		if (i % 2 == 0)
			pthread_detach(next);
		await_alone();
	}
	return 30;
}

/*
 * Threads end, until rows of the profile are used again; the last one is detached. A thread that has
 * its row sleeps; one that has its pthread_t, by its stack, is created and joined between the parts.
 * The row is the sleeper's still.
 */
static int handles(void)
{
	pthread_t sleeper, next, late;
	pthread_attr_t detached, small;
	cpu_set_t all, one;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 1 << 20); /* the C library has no use for a larger one */
	sem_init(&sem, 0, 0);
	CPA_START();
	for (int i = 0; i < ROWS; i++) {
		pthread_create(&next, NULL, brief, NULL);
		pthread_join(next, NULL);
	}
	pthread_create(&next, &detached, brief, NULL);
	await_alone();
	pthread_create(&sleeper, &small, asleep_worker, NULL);
	await_asleep(&sleeper_tid);
	work_in_part(10);
	CPA_STOP();
	/* On one processor the thread, as a rule, has not begun when the join does. */
	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	pthread_create(&next, NULL, brief, NULL);
	pthread_join(next, NULL);
	sched_setaffinity(0, sizeof(all), &all);
	CPA_START();
	pthread_create(&late, NULL, late_worker, NULL);
	pthread_join(late, NULL);
	sem_post(&sem);
	pthread_join(sleeper, NULL);
	return 10 + 20 + 30;
}

static pid_t heirs;
static int output;

/* The program that a child becomes while profiling is off: it has the pipe, and another has it longer. */
static int heir(void)
{
	CPA_START();
	if (write(STDOUT_FILENO, "", 1) != 1) /* the reader's wait for the end is all in the part */
		return 1;
	work_in_part(10);
	close(STDOUT_FILENO);
	return 0;
}

static void *closing_worker(void *unused)
{
	waitpid(heirs, NULL, 0);
	work_in_part(60);
	close(output);
	pause();
	return unused;
}

/* The child opens the pipe by its name, so that it is not counted, before it becomes another program. */
static int inherited(void)
{
	char name[32], byte;
	pthread_t closer;
	int ends[2];

	CPA_START();
	if (pipe(ends))
		return 0;
	output = ends[1];
	snprintf(name, sizeof(name), "/dev/fd/%d", output);
	heirs = fork();
	if (!heirs) {
		close(STDOUT_FILENO);
		close(ends[0]);
		if (open(name, O_WRONLY) != STDOUT_FILENO)
			_exit(1);
		close(output);
		CPA_STOP();
		execl("/proc/self/exe", "parts", "heir", NULL);
		_exit(1);
	}
	pthread_create(&closer, NULL, closing_worker, NULL);
	pthread_detach(closer);
	while (read(ends[0], &byte, 1) > 0)
		;
	work_in_part(40);
	return 10 + 60 + 40;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} programs[] = {
		{ "alone", alone },	{ "lock", lock },	    { "condition", condition },
		{ "barrier", meet },	{ "semaphore", semaphore }, { "threads", threads },
		{ "often", often },	{ "handles", handles },	    { "eventless", eventless },
		{ "passing", passing }, { "hampered", hampered },   { "inherited", inherited },
		{ "heir", heir }
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		if (argc != 2 || strcmp(argv[1], programs[i].name) != 0)
			continue;
		printf("%d\n", programs[i].run());
		return 0;
	}
	fprintf(stderr, "usage: parts alone|lock|condition|barrier|semaphore|threads|often|handles|"
			"eventless|passing|hampered|inherited\n");
	return 2;
}
