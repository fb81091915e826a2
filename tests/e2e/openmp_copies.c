/* SPDX-License-Identifier: MIT */
/*
 * Two plugins, each with its own copy of libgomp. The region, and the end of the critical section, are
 * tail calls: they seem to come from the program, which has no libgomp.
 *
 *	openmp_copies PLUGIN...		run the function of each, in turn
 *	-DPLUGIN			a plugin
 */
#ifdef PLUGIN

int counted;

void count(void)
{
#pragma omp parallel num_threads(2)
	{
#pragma omp critical
		counted++;
	}
}

void count_alone(void)
{
#pragma omp critical
	counted++;
}

#else

#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *plugins[8];

	for (int i = 1; i < argc && i < 8; i++) {
		plugins[i] = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
		if (!plugins[i]) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
	}
	for (int round = 0; round < 10; round++)
		for (int i = 1; i < argc && i < 8; i++) {
			((void (*)(void))dlsym(plugins[i], "count"))();
			((void (*)(void))dlsym(plugins[i], "count_alone"))();
		}
	for (int i = 1; i < argc && i < 8; i++)
		printf("%d\n", *(int *)dlsym(plugins[i], "counted"));
	return 0;
}

#endif
