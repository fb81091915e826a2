/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/instrumented_many.c - ten thousand functions, f0000 to f9999; see many.h
 */
#include "tests/programs/many.h"

#define HUNDREDS(do, n) \
	TENS(do, n##0)  \
	TENS(do, n##1)  \
	TENS(do, n##2)  \
	TENS(do, n##3)  \
	TENS(do, n##4)  \
	TENS(do, n##5) TENS(do, n##6) TENS(do, n##7) TENS(do, n##8) TENS(do, n##9)
#define ALL(do)         \
	HUNDREDS(do, 0) \
	HUNDREDS(do, 1) \
	HUNDREDS(do, 2) \
	HUNDREDS(do, 3) \
	HUNDREDS(do, 4) \
	HUNDREDS(do, 5) HUNDREDS(do, 6) HUNDREDS(do, 7) HUNDREDS(do, 8) HUNDREDS(do, 9)

#define DEFINE(n)                                                               \
	static __attribute__((noinline)) void f##n(unsigned component, long us) \
	{                                                                       \
		many_burn(component, us);                                       \
	}
#define NAME(n) f##n,

ALL(DEFINE)

static void (*const function[])(unsigned component, long us) = { ALL(NAME) };

static __attribute__((no_instrument_function)) void many_use(unsigned component, long us)
{
	function[component](component, us);
}

__attribute__((no_instrument_function)) int main(void)
{
	many_run();
	return 0;
}
