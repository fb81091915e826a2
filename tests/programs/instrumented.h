/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/instrumented.h - for programs that know the time of their procedures
 *
 * Such a program is compiled with -finstrument-functions. Each function says by itself when it
 * begins and ends. What it burns is noted with the stack of functions at that time, and what else
 * the CPU clock counted in it: of that, system calls and faults are its own, and our hooks are not.
 * In the end all is printed as JSON. Nothing here is instrumented.
 */
#ifndef CPA_TESTS_INSTRUMENTED_H
#define CPA_TESTS_INSTRUMENTED_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define IN_MOST	   16
#define IN_SPELLS  512
#define IN_PLAIN   __attribute__((no_instrument_function, unused)) static
#define IN_PROGRAM __attribute__((noinline)) static

struct in_thread {
	const char *name;
	const char *stack[IN_MOST];
	int depth;
	int spells;
	long since; /* CPU time at the end of the last one */
	struct {
		const char *stack[IN_MOST];
		int depth;
		long burned, all; /* ns */
	} spell[IN_SPELLS];
};

static __thread struct in_thread *in_self;

IN_PLAIN long in_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}

IN_PLAIN void in_thread_begin(struct in_thread *thread, const char *name)
{
	thread->name = name;
	thread->since = in_cpu_ns();
	in_self = thread;
}

/* The innermost function has had the processor since the last call, and burned @burned ns of it. */
IN_PLAIN void in_spell(long now, long burned)
{
	int n = in_self->spells++;

	if (n == IN_SPELLS)
		exit(2);
	for (int i = 0; i < in_self->depth; i++)
		in_self->spell[n].stack[i] = in_self->stack[i];
	in_self->spell[n].depth = in_self->depth;
	in_self->spell[n].burned = burned;
	in_self->spell[n].all = now - in_self->since;
	in_self->since = now;
}

IN_PLAIN void in_begin(const char *name)
{
	in_spell(in_cpu_ns(), 0);
	if (in_self->depth == IN_MOST)
		exit(2);
	in_self->stack[in_self->depth++] = name;
}

/* Back in the function that was at @depth. */
IN_PLAIN void in_land(int depth)
{
	in_spell(in_cpu_ns(), 0);
	in_self->depth = depth;
}

IN_PLAIN void in_end(void)
{
	in_land(in_self->depth - 1);
}

/* Use @ms of CPU time in registers. */
IN_PLAIN void in_burn(long ms)
{
	long start = in_cpu_ns(), now = start;

	while (now < start + ms * 1000000L) {
		for (int i = 0; i < 20000; i++)
			__asm__ volatile("" : : "r"(i));
		now = in_cpu_ns();
	}
	in_spell(now, now - start);
}

/* One line a spell: ["thread", [functions, the innermost last], ns burned, ns in all] */
IN_PLAIN void in_print(const struct in_thread *const threads[], int count)
{
	const char *before = "[";

	for (int t = 0; t < count; t++) {
		for (int n = 0; n < threads[t]->spells; n++) {
			printf("%s\n[\"%s\", [", before, threads[t]->name);
			before = ",";
			for (int i = 0; i < threads[t]->spell[n].depth; i++)
				printf("%s\"%s\"", i ? ", " : "", threads[t]->spell[n].stack[i]);
			printf("], %ld, %ld]", threads[t]->spell[n].burned,
			       threads[t]->spell[n].all);
		}
	}
	printf("\n]\n");
}

#endif
