/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/jump_inside.c - a signal handler jumps out of the library that has sem_post(), many times
 *
 * Under libcpa.so that is libcpa.so, and such a jump ends the thread's profile. Then it computes for 0.3 s.
 */
#include <dlfcn.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

#define JUMPS	   100
#define EVERY_US   100
#define COMPUTE_NS 300000000

static sigjmp_buf target;
static volatile int jumps;
static uintptr_t begin, end; /* of the library */

static void on_signal(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *interrupted = context;
	uintptr_t at = (uintptr_t)interrupted->uc_mcontext.gregs[REG_RIP];

	(void)sig, (void)info;
	if (at < begin || at >= end || jumps == JUMPS)
		return;
	jumps++;
	siglongjmp(target, 1);
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	struct itimerval often = { { 0, EVERY_US }, { 0, EVERY_US } }, never = { 0 };
	struct dl_find_object found;
	int64_t begun;
	sem_t sem;

	if (_dl_find_object((void *)sem_post, &found))
		return 1;
	begin = (uintptr_t)found.dlfo_map_start;
	end = (uintptr_t)found.dlfo_map_end;
	sem_init(&sem, 0, 1);
	sigaction(SIGALRM, &action, NULL);
	sigsetjmp(target, 1);
	setitimer(ITIMER_REAL, &often, NULL);
	while (jumps < JUMPS) {
		sem_trywait(&sem);
		sem_post(&sem);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	for (begun = now_ns(); now_ns() - begun < COMPUTE_NS;)
		;
	return 0;
}
