/* SPDX-License-Identifier: MIT */
/*
 * tests/known/host.c - a program that knows of no queues: its plugins do
 *
 *	host PLUGIN...	loads each for itself alone, calls its plugin_main(), with those before it
 *			still loaded; unloads them; all of that twice
 */
#include <dlfcn.h>
#include <stdio.h>

#define MOST 8

static int round_of(int count, char **paths)
{
	void *plugin[MOST];

	for (int i = 0; i < count; i++) {
		int (*plugin_main)(void);

		plugin[i] = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
		if (!plugin[i]) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		*(void **)&plugin_main = dlsym(plugin[i], "plugin_main");
		printf("plugin %d: %d\n", i, plugin_main());
		fflush(stdout);
	}
	while (count--)
		printf("unload %d: %d\n", count, dlclose(plugin[count]));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2 || argc > MOST + 1)
		return 2;
	for (int i = 0; i < 2; i++)
		if (round_of(argc - 1, argv + 1))
			return 1;
	return 0;
}
