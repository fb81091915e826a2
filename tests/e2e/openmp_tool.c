/* SPDX-License-Identifier: MIT */
/* tests/e2e/openmp_tool.c - a tool that has OMPT: at the end it prints how many regions there were */
#include <stdint.h>
#include <stdio.h>

typedef void callback(void);

enum { PARALLEL_BEGIN = 3 };

struct result {
	int (*initialize)(callback *(*lookup)(const char *name), int device, uint64_t *data);
	void (*finalize)(uint64_t *data);
	uint64_t data;
};

struct result *ompt_start_tool(unsigned version, const char *runtime);

static int regions;

static void on_region(void)
{
	regions++;
}

static int initialize(callback *(*lookup)(const char *name), int device, uint64_t *data)
{
	int (*set)(int which, callback *call) =
		(int (*)(int, callback *))lookup("ompt_set_callback");

	(void)device, (void)data;
	return set && set(PARALLEL_BEGIN, on_region);
}

static void finalize(uint64_t *data)
{
	(void)data;
	fprintf(stderr, "%d regions\n", regions);
}

struct result *ompt_start_tool(unsigned version, const char *runtime)
{
	static struct result result = { initialize, finalize, 0 };

	(void)version, (void)runtime;
	return &result;
}
