/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/sampled_parts.c - a thread keeps its sampler over times without profiling
 *
 * It computes for longer than samples may stay away while profiling is off, and waits right after a
 * start. Prints the interval of its timer in microseconds, a line a round: after a stop, and after that
 * wait. A round in which it computed for so long after the start that samples were due is done again.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/cpa.h"
#include "tests/conformance/asleep.h"

#define ROUNDS	 3
#define TIMERS	 64
#define CLOSE_US 4000  /* CPU time in which a sample may be missing */
#define FAR_US	 60000 /* CPU time in which none may be */
#define MOST_US	 10000000

static sem_t asked, answered;
static volatile int asker;

static long cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Of the first timer, which is that of the first thread; -1: there is none. */
static long interval_us(void)
{
	struct itimerspec timer;

	for (int id = 0; id < TIMERS; id++)
		if (!syscall(SYS_timer_gettime, id, &timer))
			return timer.it_interval.tv_sec * 1000000 +
			       timer.it_interval.tv_nsec / 1000;
	return -1;
}

static void burn(long us)
{
	for (long end = cpu_us() + us; cpu_us() < end;)
		;
}

/* Answers who is blocked, and for a while. */
static void *answer(void *unused)
{
	const struct timespec late = { .tv_nsec = 2000000 };

	for (;;) {
		sem_wait(&asked);
		await_asleep(&asker);
		nanosleep(&late, NULL);
		sem_post(&answered);
	}
	return unused;
}

static void ask(void)
{
	sem_post(&asked);
	sem_wait(&answered);
}

int main(void)
{
	long first = interval_us(), begun = cpu_us();
	pthread_t thread;

	asker = gettid();
	sem_init(&asked, 0, 0);
	sem_init(&answered, 0, 0);
	pthread_create(&thread, NULL, answer, NULL);
	while (interval_us() == first && cpu_us() < begun + MOST_US)
		; /* until its sampler is chosen */
	for (int round = 0; round < ROUNDS;) {
		long stopped;

		CPA_STOP();
		stopped = interval_us();
		burn(FAR_US);
		CPA_START();
		begun = cpu_us();
		ask();
		if (cpu_us() - begun > CLOSE_US)
			continue;
		printf("%ld %ld\n", stopped, interval_us());
		round++;
	}
	return 0;
}
