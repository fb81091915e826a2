/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/instrumented_jumps.c - handlers of a fast timer jump out of procedures at any
 * point, or end the part of the run there and begin another
 *
 * instrumented_jumps [JUMPS [PARTS]]: of each of six kinds, in two threads. After each the thread must
 * still be profiled: it takes a lock LOCKS times. PARTS 0: nothing begins or ends a part.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "preload/cpa.h"

#define LOCKS 1000

static sigjmp_buf back;
static const struct itimerval every = { { 0, 20 }, { 0, 20 } }, never;
static volatile sig_atomic_t jumps, most;
static int parts_too;

static void on_signal(int sig)
{
	jmp_buf own;
	volatile int here = sig;

	/* Once within the handler, and out of it. */
	if (!setjmp(own))
		longjmp(own, here);
	if (jumps == most) /* run() may be over */
		return;
	if (++jumps == most)
		setitimer(ITIMER_REAL, &never, NULL);
	siglongjmp(back, 1);
}

/* The part of the run ends, and another begins. */
static void on_signal_of_parts(int sig)
{
	(void)sig;
	CPA_STOP();
	CPA_START();
	if (++jumps == most)
		setitimer(ITIMER_REAL, &never, NULL);
}

/* Not before there is somewhere to jump to. */
static void begin(void)
{
	jumps = 0;
	setitimer(ITIMER_REAL, &every, NULL);
}

/* Where the handler's frame is gone: signals that come fast would fill the stack. */
static void unblock(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

__attribute__((noinline)) static unsigned tiny(unsigned x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

__attribute__((noinline)) static unsigned work(unsigned x)
{
	return tiny(tiny(x)) * 3;
}

__attribute__((noinline)) static void run(void)
{
	volatile unsigned sum = 0;

	if (!sigsetjmp(back, 0))
		begin();
	unblock();
	while (jumps < most)
		sum = work(sum);
}

__attribute__((always_inline)) static inline unsigned within(unsigned x)
{
	return tiny(x) + x;
}

/* It jumps back to the frame that it was in. */
__attribute__((noinline)) static void run_within(void)
{
	volatile unsigned sum = 0;

	if (!sigsetjmp(back, 0))
		begin();
	unblock();
	while (jumps < most)
		sum = within(sum);
}

__attribute__((noinline)) static void run_parts(void)
{
	volatile unsigned sum = 0;

	begin();
	unblock();
	while (jumps < most)
		sum = work(sum);
}

static void locks(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	for (int i = 0; i < LOCKS; i++) {
		pthread_mutex_lock(&mutex);
		tiny(1);
		pthread_mutex_unlock(&mutex);
	}
}

static void *all(void *unused)
{
	static char apart[1 << 16];
	char nested[1 << 16]; /* in the thread's own stack */
	stack_t stacks[] = { { .ss_sp = apart, .ss_size = sizeof(apart) },
			     { .ss_sp = nested, .ss_size = sizeof(nested) },
			     { .ss_flags = SS_DISABLE } };
	struct sigaction action = { .sa_handler = on_signal },
			 parts = { .sa_handler = on_signal_of_parts };

	sigaction(SIGALRM, &action, NULL);
	run();
	locks();
	run_within();
	locks();
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGALRM, &action, NULL);
	for (int i = 0; i < 3; i++) {
		sigaltstack(&stacks[i], NULL);
		run();
		locks();
	}
	sigaction(SIGALRM, &parts, NULL);
	if (parts_too)
		run_parts();
	locks();
	return unused;
}

int main(int argc, char **argv)
{
	sigset_t set;
	pthread_t thread;

	most = argc > 1 ? atoi(argv[1]) : 2000;
	parts_too = argc > 2 ? atoi(argv[2]) : 1;
	/* In the first thread, then in another one, which unblocks it. */
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	all(NULL);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_create(&thread, NULL, all, NULL);
	pthread_join(thread, NULL);
	puts("done");
	return 0;
}
