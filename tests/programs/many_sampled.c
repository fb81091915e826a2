/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/many_sampled.c - a thousand functions that spin by themselves, f000 to f999; see
 * many.h
 */
#define MANY	      1000u
#define MANY_FIRST_US 1000 /* for a sample */

#include "tests/programs/many.h"

#define TRIAL 3000000L

#define ALL(do)     \
	TENS(do, 0) \
	TENS(do, 1) \
	TENS(do, 2) \
	TENS(do, 3) \
	TENS(do, 4) \
	TENS(do, 5) TENS(do, 6) TENS(do, 7) TENS(do, 8) TENS(do, 9)

#define DEFINE(n)                                              \
	static __attribute__((noinline)) void f##n(long turns) \
	{                                                      \
		for (long i = 0; i < turns; i++)               \
			__asm__ volatile("" : : "r"(i));       \
	}
#define NAME(n) f##n,

ALL(DEFINE)

static void (*const function[])(long turns) = { ALL(NAME) };
static double turns_per_us;

static void many_use(unsigned component, long us)
{
	long start = many_cpu_ns();

	function[component]((long)((double)us * turns_per_us));
	many_note(component, start);
}

int main(void)
{
	long start = many_cpu_ns();

	function[0](TRIAL);
	turns_per_us = TRIAL * 1e3 / (double)(many_cpu_ns() - start);
	many_run();
	return 0;
}
