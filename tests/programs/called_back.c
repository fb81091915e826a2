/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/called_back.c - a function that a library calls back, below functions of its own
 *
 * walk() has nftw() call visit() for each file of /proc/self/net, in which all work is. Argument: rounds for
 * each file, in thousands.
 */
#include <ftw.h>
#include <stdlib.h>

/* No tail calls: each frame stays. */
#define STAYS() __asm__ volatile("" ::: "memory")

static long rounds;

static int visit(const char *path, const struct stat *stat, int type, struct FTW *where)
{
	(void)path;
	(void)stat;
	(void)type;
	(void)where;
	for (long i = 0; i < rounds * 1000; i++)
		__asm__ volatile("# work" : : "r"(i));
	STAYS();
	return 0;
}

__attribute__((noinline)) static int walk(void)
{
	int result = nftw("/proc/self/net", visit, 4, FTW_PHYS);

	STAYS();
	return result;
}

int main(int argc, char **argv)
{
	rounds = argc > 1 ? atol(argv[1]) : 0;
	return walk();
}
