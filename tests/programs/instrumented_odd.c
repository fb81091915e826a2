/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/instrumented_odd.c - procedures in odd places: none may change what the program
 * does
 *
 * Before and after main(), in coroutines, in a child of fork, in threads that end from deep inside,
 * in a handler on a stack that lies in a frame, deeper than anybody expects.
 */
#include <alloca.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define SWITCHES 1000
#define STACK	 (1 << 16)
#define NOTHING	 __attribute__((noinline))

static ucontext_t main_context, context[2];
static int switched[2];
static volatile int handled, for_ever = 1;

NOTHING static unsigned deep(unsigned n)
{
	volatile unsigned below = n ? deep(n - 1) : 0;

	return below + 1;
}

NOTHING static void switch_over(int to)
{
	switched[to]++;
	if (swapcontext(&context[!to], &context[to]))
		exit(3);
}

static void coroutine(int self)
{
	for (int i = 0; i < SWITCHES; i++) {
		deep((unsigned)i % 7);
		switch_over(!self);
	}
}

static void coroutines(void)
{
	for (int i = 0; i < 2; i++) {
		getcontext(&context[i]);
		context[i].uc_stack.ss_sp = malloc(STACK);
		context[i].uc_stack.ss_size = STACK;
		context[i].uc_link = &main_context;
		makecontext(&context[i], (void (*)(void))coroutine, 1, i);
	}
	if (swapcontext(&main_context, &context[0]))
		exit(3);
	printf("switched %d %d\n", switched[0], switched[1]);
}

static void *ends_deep(void *n)
{
	if (*(int *)n == 0 && for_ever)
		pthread_exit(n);
	return (*(int *)n)-- ? ends_deep(n) : NULL;
}

static void *waits_deep(void *n)
{
	while (*(int *)n == 0 && for_ever)
		pause();
	return (*(int *)n)-- ? waits_deep(n) : NULL;
}

static void threads(void)
{
	int deep_one = 10, waiting = 10;
	pthread_t a, b;
	void *result;

	pthread_create(&a, NULL, ends_deep, &deep_one);
	pthread_create(&b, NULL, waits_deep, &waiting);
	pthread_cancel(b);
	pthread_join(a, &result);
	printf("ended %d", result == &deep_one);
	pthread_join(b, &result);
	printf(" cancelled %d\n", result == PTHREAD_CANCELED);
}

static void child(void)
{
	pid_t pid;
	int status = 0;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit((int)deep(6));
	waitpid(pid, &status, 0);
	printf("child %d\n", WEXITSTATUS(status));
}

static void on_signal(int sig)
{
	handled += sig == SIGUSR1 ? (int)deep(3) : 0;
}

NOTHING static void handler(void)
{
	stack_t other = { .ss_sp = alloca(STACK), .ss_size = STACK },
		none = { .ss_flags = SS_DISABLE };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 10; i++) {
		errno = i;
		raise(SIGUSR1);
		deep(2);
		if (errno != i)
			printf("errno %d\n", errno);
	}
	sigaltstack(&none, NULL);
	printf("handled %d\n", handled);
}

__attribute__((constructor)) static void before(void)
{
	printf("before %u\n", deep(5));
}

__attribute__((destructor)) static void after(void)
{
	printf("after %u\n", deep(5));
}

int main(void)
{
	coroutines();
	threads();
	child();
	handler();
	printf("deep %u\n", deep(60000));
	return 0;
}
