/* SPDX-License-Identifier: MIT */
/* tests/programs/unloading.c - a thread that loads, uses and unloads the library $1 all the time */
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

#define WORK_S 1 /* of CPU time */

int main(int argc, char **argv)
{
	struct timespec now;

	do {
		void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;

		if (!library)
			return 1;
		dlclose(library);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while (now.tv_sec < WORK_S);
	puts("done");
	return 0;
}
