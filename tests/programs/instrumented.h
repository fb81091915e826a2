/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/instrumented.h - for programs that know the time of their procedures
 *
 * Such a program is compiled with -finstrument-functions. Each function says by itself when it
 * begins and ends; what it burns is measured and noted with the stack of functions at that time.
 * In the end all is printed as JSON. Nothing here is instrumented.
 */
#ifndef CPA_TESTS_INSTRUMENTED_H
#define CPA_TESTS_INSTRUMENTED_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define IN_MOST	   64
#define IN_BURNS   256
#define IN_PLAIN   __attribute__((no_instrument_function, unused)) static
#define IN_PROGRAM __attribute__((noinline)) static

struct in_thread {
	const char *name;
	const char *stack[IN_MOST];
	int depth;
	int burns;
	struct {
		const char *stack[IN_MOST];
		int depth;
		long ns;
	} burn[IN_BURNS];
};

static __thread struct in_thread *in_self;

IN_PLAIN void in_thread_begin(struct in_thread *thread, const char *name)
{
	thread->name = name;
	in_self = thread;
}

IN_PLAIN void in_begin(const char *name)
{
	if (in_self->depth == IN_MOST)
		exit(2);
	in_self->stack[in_self->depth++] = name;
}

IN_PLAIN void in_end(void)
{
	in_self->depth--;
}

IN_PLAIN long in_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}

/* Use @ms of CPU time in registers. */
IN_PLAIN void in_burn(long ms)
{
	long start = in_cpu_ns(), now = start;
	int n = in_self->burns++;

	if (n == IN_BURNS)
		exit(2);
	while (now < start + ms * 1000000L) {
		for (int i = 0; i < 20000; i++)
			__asm__ volatile("" : : "r"(i));
		now = in_cpu_ns();
	}
	for (int i = 0; i < in_self->depth; i++)
		in_self->burn[n].stack[i] = in_self->stack[i];
	in_self->burn[n].depth = in_self->depth;
	in_self->burn[n].ns = now - start;
}

/* One line a burn: ["thread", [functions, the innermost last], ns] */
IN_PLAIN void in_print(const struct in_thread *const threads[], int count)
{
	const char *before = "[";

	for (int t = 0; t < count; t++) {
		for (int n = 0; n < threads[t]->burns; n++) {
			printf("%s\n[\"%s\", [", before, threads[t]->name);
			before = ",";
			for (int i = 0; i < threads[t]->burn[n].depth; i++)
				printf("%s\"%s\"", i ? ", " : "", threads[t]->burn[n].stack[i]);
			printf("], %ld]", threads[t]->burn[n].ns);
		}
	}
	printf("\n]\n");
}

#endif
