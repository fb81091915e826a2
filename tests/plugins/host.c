/* SPDX-License-Identifier: MIT */
/*
 * tests/plugins/host.c - a program that has its plugins do the work
 *
 *	host HOW ROUNDS TIMES PLUGIN...
 *
 * Each plugin in turn is loaded, runs TIMES and is unloaded again; all of that ROUNDS times. HOW is
 * local, deepbind, or namespace; with "+finds" behind it each is asked if it finds libfound.so, with "+size" is told
 * whether the second half of the rounds needed more memory, with "+stops" it prints a line after each of STOPS parts
 * of the rounds, and waits for one.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANY  64 /* pages */
#define STOPS 8

static void *load(const char *how, const char *file)
{
	if (strncmp(how, "deepbind", 8) == 0)
		return dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	if (strncmp(how, "namespace", 9) == 0)
		return dlmopen(LM_ID_NEWLM, file, RTLD_NOW | RTLD_LOCAL);
	return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

static long run(const char *how, long times, const char *file)
{
	void *plugin = load(how, file);
	int (*finds)(const char *);
	long (*work)(long), sum;

	if (!plugin) {
		printf("%s\n", dlerror());
		exit(1);
	}
	*(void **)&work = dlsym(plugin, "plugin_run");
	*(void **)&finds = dlsym(plugin, "plugin_finds");
	sum = work(times);
	if (strstr(how, "+finds"))
		printf("finds: %d\n", finds("libfound.so"));
	if (dlclose(plugin))
		printf("%s\n", dlerror());
	return sum;
}

/* Bytes of address space, in pages. */
static long size(void)
{
	long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%ld", &pages) != 1)
		pages = -1;
	if (file)
		fclose(file);
	return pages;
}

int main(int argc, char **argv)
{
	long rounds = argc > 4 ? atol(argv[2]) : 0, sum = 0, before = 0;

	for (long i = 0; i < rounds; i++) {
		for (int k = 4; k < argc; k++)
			sum += run(argv[1], atol(argv[3]), argv[k]);
		if (i == rounds / 2)
			before = size();
		if (strstr(argv[1], "+stops") && (i + 1) % (rounds / STOPS) == 0) {
			puts("stops");
			fflush(stdout);
			if (getchar() == EOF)
				return 1;
		}
	}
	printf("sum %ld\n", sum);
	if (strstr(argv[1], "+size"))
		printf("grew: %d\n", size() - before > MANY);
	return rounds == 0;
}
