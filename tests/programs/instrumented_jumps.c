/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/instrumented_jumps.c - handlers of a fast timer jump out of procedures at any
 * point
 *
 * instrumented_jumps [JUMPS]: then the thread must still be profiled: it takes a lock LOCKS times.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define LOCKS 1000

static sigjmp_buf back;
static volatile sig_atomic_t jumps;

static void on_signal(int sig)
{
	jmp_buf own;
	volatile int here = sig;

	/* Once within the handler, and out of it. */
	if (!setjmp(own))
		longjmp(own, here);
	jumps++;
	siglongjmp(back, 1);
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

__attribute__((noinline)) static void run(int most)
{
	volatile unsigned sum = 0;

	sigsetjmp(back, 1);
	while (jumps < most)
		sum = work(sum);
}

static void *locks(void *most)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static const struct itimerval every = { { 0, 200 }, { 0, 200 } }, never;
	struct sigaction action = { .sa_handler = on_signal };
	static char stack[1 << 16];
	stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	/* The second time the handler has a stack of its own. */
	for (int i = 0; i < 2; i++) {
		jumps = 0;
		sigaction(SIGALRM, &action, NULL);
		setitimer(ITIMER_REAL, &every, NULL);
		run(*(int *)most);
		setitimer(ITIMER_REAL, &never, NULL);
		sigaltstack(&other, NULL);
		action.sa_flags = SA_ONSTACK;
	}
	for (int i = 0; i < LOCKS; i++) {
		pthread_mutex_lock(&mutex);
		tiny(1);
		pthread_mutex_unlock(&mutex);
	}
	return most;
}

int main(int argc, char **argv)
{
	int most = argc > 1 ? atoi(argv[1]) : 500;
	sigset_t set;
	pthread_t thread;

	/* In the first thread, then in another one, which unblocks it. */
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	locks(&most);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_create(&thread, NULL, locks, &most);
	pthread_join(thread, NULL);
	puts("done");
	return 0;
}
