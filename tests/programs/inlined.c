/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/inlined.c - functions that the compiler inlines into each other
 *
 * outer() has inlined middle() and other(), middle() has inlined inner(); each of inner() and other()
 * has half of the work. alone() is not inlined. Argument: millions of rounds.
 */
#include <stdio.h>
#include <stdlib.h>

#define INLINED __attribute__((always_inline)) static inline

INLINED void inner(void)
{
	for (long k = 0; k < 2000; k++)
		__asm__ volatile("# inner" : : "r"(k));
}

INLINED void middle(void)
{
	inner();
}

INLINED void other(void)
{
	for (long k = 0; k < 2000; k++)
		__asm__ volatile("# other" : : "r"(k));
}

static __attribute__((noinline)) void outer(long rounds)
{
	for (long i = 0; i < rounds; i++) {
		middle();
		other();
	}
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void alone(long rounds)
{
	for (long i = 0; i < rounds; i++)
		for (long k = 0; k < 2000; k++)
			__asm__ volatile("# alone" : : "r"(k));
	__asm__ volatile("# end" ::: "memory");
}

int main(int argc, char **argv)
{
	long rounds = (argc > 1 ? atol(argv[1]) : 1500) * 250;

	outer(rounds);
	alone(rounds / 2);
	puts("done");
	return 0;
}
