/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/instrumented_calls.c - procedures: nested, recursive, left by longjmp, in threads
 *
 * The path is that of main, the longer one of two threads in the middle.
 */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

#include "tests/programs/instrumented.h"

#define JUMPS 5

static struct in_thread in_main, in_long, in_short;
static jmp_buf back;
static sigjmp_buf handler_back;

IN_PROGRAM void child(void)
{
	in_begin("child");
	in_burn(10);
	in_end();
}

static inline __attribute__((always_inline)) void inlined(void)
{
	in_begin("inlined");
	in_burn(8);
	child();
	in_end();
}

IN_PROGRAM void parent(size_t size)
{
	volatile char *moved = alloca(size); /* and with it the stack pointer */

	in_begin("parent");
	moved[0] = 1;
	in_burn(20);
	child();
	inlined();
	in_burn(10);
	child();
	in_end();
}

IN_PROGRAM int direct(int n)
{
	int ret = 0;

	in_begin("direct");
	in_burn(3);
	if (n > 1)
		ret = direct(n - 1);
	in_burn(1);
	in_end();
	return ret + 1;
}

IN_PROGRAM int odd(int n);

IN_PROGRAM int even(int n)
{
	int ret;

	in_begin("even");
	in_burn(4);
	ret = n ? odd(n - 1) : 1;
	in_end();
	return ret;
}

IN_PROGRAM int odd(int n)
{
	int ret;

	in_begin("odd");
	in_burn(2);
	ret = n ? even(n - 1) : 0;
	in_end();
	return ret;
}

IN_PROGRAM void jumper(void)
{
	in_begin("jumper");
	in_burn(6);
	longjmp(back, 1);
}

IN_PROGRAM void passed(void)
{
	in_begin("passed");
	in_burn(2);
	jumper();
}

/* What it burns after each jump is its own, though no function has ended. */
IN_PROGRAM void lander(void)
{
	volatile int jumps = 0;

	in_begin("lander");
	while (jumps++ < JUMPS) {
		int depth = in_self->depth;

		if (!setjmp(back))
			passed();
		in_land(depth);
		in_burn(5);
		child();
	}
	in_end();
}

IN_PROGRAM void on_signal(int sig)
{
	(void)sig;
	in_begin("on_signal");
	in_burn(7);
	siglongjmp(handler_back, 1);
}

IN_PROGRAM void raiser(void)
{
	static char stack[1 << 16];
	stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	in_begin("raiser");
	in_burn(3);
	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
}

IN_PROGRAM void handled(void)
{
	int depth;

	in_begin("handled");
	depth = in_self->depth;
	if (!sigsetjmp(handler_back, 1))
		raiser();
	in_land(depth);
	in_burn(9);
	in_end();
}

IN_PROGRAM void common(long ms)
{
	in_begin("common");
	in_burn(ms);
	in_end();
}

IN_PROGRAM void extra(void)
{
	in_begin("extra");
	in_burn(30);
	common(15);
	in_end();
}

/* 75 ms; without extra alone 45, without all that extra does 30. */
IN_PROGRAM void *long_thread(void *unused)
{
	in_thread_begin(&in_long, "long");
	in_begin("long_thread");
	common(30);
	extra();
	in_end();
	return unused;
}

/* Ends from deep inside. */
IN_PROGRAM void *short_thread(void *unused)
{
	in_thread_begin(&in_short, "short");
	in_begin("short_thread");
	common(50);
	pthread_exit(unused);
}

int main(void)
{
	static const struct in_thread *const threads[] = { &in_main, &in_long, &in_short };
	pthread_t a, b;

	in_thread_begin(&in_main, "main");
	in_begin("main");
	parent(1000);
	direct(5);
	even(5);
	lander();
	handled();
	pthread_create(&a, NULL, long_thread, NULL);
	pthread_create(&b, NULL, short_thread, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	child();
	in_print(threads, 3);
	return 0;
}
