/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/loader.c - libraries that come and go: library.so lies beside this program
 */
#include <dlfcn.h>
#include <libgen.h>

#include "tests/conformance/case.h"

static void round_of(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	int (*work)(int) = library ? (int (*)(int))dlsym(library, "library_work") : NULL;

	begin("loaded");
	add(" %d", work != NULL);
	if (work)
		add(" count=%d", work(4));
	end();
	CASE("unload", library ? dlclose(library) : -1);
}

static void *in_background(void *argument)
{
	round_of(argument);
	return NULL;
}

int main(int argc, char **argv)
{
	char path[4096];

	(void)argc;
	snprintf(path, sizeof(path), "%s", argv[0]);
	snprintf(path, sizeof(path), "%.4000s/library.so", dirname(path));
	for (int i = 0; i < 5; i++)
		round_of(path);
	in_thread(in_background, path);
	CASE("missing library", dlopen("/nowhere.so", RTLD_NOW) == NULL);
	CASE("symbol", dlsym(RTLD_DEFAULT, "pthread_mutex_lock") != NULL);
	CASE("missing symbol", dlsym(RTLD_DEFAULT, "cpa_no_such_symbol") == NULL);
	CASE("no symbol of the profiler's", dlsym(RTLD_DEFAULT, "cpa_life_end") == NULL);
	return 0;
}
