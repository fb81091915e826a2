/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/lines.c - a function with two hot lines, of which one has three quarters of its time
 *
 * Argument: millions of rounds of both together.
 */
#include <stdio.h>
#include <stdlib.h>

static __attribute__((noinline)) void work(long rounds)
{
	for (long i = 0; i < rounds; i++) {
		for (long k = 0; k < 3000; k++)
			__asm__ volatile("# most" : : "r"(k));
		for (long k = 0; k < 1000; k++)
			__asm__ volatile("# rest" : : "r"(k));
	}
	__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	work((argc > 1 ? atol(argv[1]) : 1500) * 250);
	puts("done");
	return 0;
}
