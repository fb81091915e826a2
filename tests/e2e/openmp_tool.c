/* SPDX-License-Identifier: MIT */
/*
 * tests/e2e/openmp_tool.c - a tool that has OMPT: at the end it prints how many regions there were. With PROGRAM a
 * program of one region, which prints what it gets as it asks for a tool. With DECLINES the tool does not go on.
 */
#include <stdint.h>
#include <stdio.h>

#ifdef PROGRAM
#include <omp.h>

int main(void)
{
#pragma omp parallel num_threads(2)
#pragma omp master
	printf("%d\n", omp_control_tool(omp_control_tool_start, 0, NULL));
	return 0;
}

#else
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
#ifdef DECLINES
	fprintf(stderr, "declines\n");
	return NULL;
#endif
	return &result;
}
#endif
