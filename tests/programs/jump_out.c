/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/jump_out.c - a signal handler jumps out of a wait, and a part of the run ends
 *
 *	jump_out out|within [stack|coroutine]
 *
 * While main waits a signal comes. "out": its handler jumps out of the wait, another thread ends
 * the part and begins one, and main takes a lock 100 times: it is in the part. "within": the
 * handler jumps about in itself and returns, so that main still waits when its second signal comes,
 * in which it takes the lock: it is in no part until the wait is over. "stack": handlers have a
 * stack of their own. "coroutine": who waits has.
 */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "preload/cpa.h"
#include "tests/conformance/asleep.h"

#define TIMES 100

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t never;
static sigjmp_buf target;
static pthread_t main_thread;
static volatile int signals, step;
static volatile int waits; /* which thread does, or is about to */
static int within;

static void take_lock(void)
{
	for (int i = 0; i < TIMES; i++) {
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
	}
}

static void on_signal(int sig)
{
	sigjmp_buf here;

	(void)sig;
	if (!within) {
		signals = 1;
		siglongjmp(target, 1);
	}
	if (signals == 0 && !sigsetjmp(here, 1))
		siglongjmp(here, 1);
	if (signals == 1)
		take_lock();
	signals++;
}

/* No event of main's: it may be in the midst of a wait, and must have none of its own. */
static void await(const volatile int *flag, int value)
{
	while (*flag != value)
		usleep(100);
}

static void *switch_parts(void *argument)
{
	await_asleep(&waits);
	pthread_kill(main_thread, SIGUSR1);
	await(&signals, 1);
	if (within)
		await_asleep(&waits); /* the wait was interrupted: it waits again */
	CPA_STOP();
	usleep(1000);
	CPA_START();
	if (within) {
		pthread_kill(main_thread, SIGUSR1);
		await(&signals, 2);
		sem_post(&never);
	}
	step = 1;
	return argument;
}

static void wait_long(void)
{
	waits = gettid();
	while (sem_wait(&never))
		;
}

/* On a stack at @stack. */
static void wait_apart(const stack_t *stack)
{
	static ucontext_t here, there;

	getcontext(&there);
	there.uc_stack = *stack;
	there.uc_link = &here;
	makecontext(&there, wait_long, 0);
	swapcontext(&here, &there);
}

int main(int argc, char **argv)
{
	static char memory[1 << 16];
	stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t t;

	if (argc < 2)
		return 2;
	within = strcmp(argv[1], "within") == 0;
	if (argc > 2 && strcmp(argv[2], "stack") == 0) {
		sigaltstack(&stack, NULL);
		action.sa_flags = SA_ONSTACK;
	}
	sigaction(SIGUSR1, &action, NULL);
	sem_init(&never, 0, 0);
	main_thread = pthread_self();
	if (pthread_create(&t, NULL, switch_parts, NULL))
		return 1;
	if (!sigsetjmp(target, 1)) {
		if (argc > 2 && strcmp(argv[2], "coroutine") == 0)
			wait_apart(&stack);
		else
			wait_long();
	}
	while (step != 1)
		;
	if (!within)
		take_lock();
	pthread_join(t, NULL);
	return 0;
}
