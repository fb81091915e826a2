/* SPDX-License-Identifier: MIT */
/*
 * tests/e2e/openmp_fork.c - a thread of the team comes late to its second region, and the fork waits for it
 *
 * The other thread waits behind its part of the first region when a signal interrupts it. Its handler goes on until the
 * thread that forks the second region has used CPU time in that; `openmp_fork asleep`: for a time after that sleeps.
 * For libgomp.
 */
#include "../conformance/asleep.h"

#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#define SPUN_NS 50000000u /* CPU time */
#define LATE_NS 50000000u /* of the clock */

static volatile int tid, interrupted; /* atomic: see await_asleep() */
static pthread_t other;
static int master;
static bool sleeps;
static clockid_t master_cpu;

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void late(int number)
{
	uint64_t begun = now(master_cpu);

	(void)number;
	__atomic_store_n(&interrupted, 1, __ATOMIC_RELEASE);
	while (!sleeps && now(master_cpu) - begun < SPUN_NS)
		;
	while (sleeps && !is_asleep(master))
		;
	for (begun = now(CLOCK_MONOTONIC); sleeps && now(CLOCK_MONOTONIC) - begun < LATE_NS;)
		;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = late };

	sleeps = argc == 2 && !strcmp(argv[1], "asleep");
	master = (int)syscall(SYS_gettid);
	sigaction(SIGUSR1, &action, NULL);
	pthread_getcpuclockid(pthread_self(), &master_cpu);
#pragma omp parallel num_threads(2)
	if (omp_get_thread_num()) {
		other = pthread_self();
		__atomic_store_n(&tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	} else {
		await_asleep(&tid);
		pthread_kill(other, SIGUSR1);
		while (!__atomic_load_n(&interrupted, __ATOMIC_ACQUIRE))
			sched_yield();
	}
#pragma omp parallel num_threads(2)
	__atomic_add_fetch(&interrupted, 1, __ATOMIC_RELAXED);
	return interrupted != 3;
}
