/* SPDX-License-Identifier: MIT */
/* tests/programs/frames_host.c - runs the library $1, tests/plugins/frames.c, some times in new threads */
#include <dlfcn.h>
#include <stdio.h>

#define TIMES	2
#define THREADS 2

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void *found = library ? dlsym(library, "frames_run") : NULL;
	long (*run)(unsigned threads) = (long (*)(unsigned))found;

	if (!run)
		return 1;
	for (int i = 0; i < TIMES; i++)
		printf("%ld\n", run(THREADS));
	return 0;
}
