/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/call_lines.c - one function, called from two lines and from an inlined function
 *
 * work() is called by twice() on two lines, and by middle(), which the compiler inlines into outer(); the
 * three calls have the same work. Argument: millions of rounds.
 */
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline)) static
#define INLINED	 __attribute__((always_inline)) static inline
/* No tail calls: each frame stays. */
#define STAYS() __asm__ volatile("" ::: "memory")

NOINLINE void work(long rounds)
{
	for (long i = 0; i < rounds; i++)
		for (long k = 0; k < 2000; k++)
			__asm__ volatile("# work" : : "r"(k));
	STAYS();
}

INLINED void middle(long rounds)
{
	work(rounds); /* inlined */
	STAYS();
}

NOINLINE void outer(long rounds)
{
	middle(rounds); /* middle */
	STAYS();
}

NOINLINE void twice(long rounds)
{
	work(rounds); /* first */
	STAYS();
	work(rounds); /* second */
	STAYS();
}

int main(int argc, char **argv)
{
	long rounds = (argc > 1 ? atol(argv[1]) : 600) * 500;

	outer(rounds);
	twice(rounds);
	puts("done");
	return 0;
}
