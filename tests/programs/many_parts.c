/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/many_parts.c - one activity with many functions: a hundred have 1 ms of CPU time in each of 20
 * rounds, f00 to f99, and frequent() has as much as 25 of them. Each is called by main() alone.
 */
#include "tests/programs/burn.h"

#define ROUNDS 20

#define DEFINE(n)                                        \
	static __attribute__((noinline)) void f##n(void) \
	{                                                \
		burn_ms(1);                              \
		__asm__ volatile("" : : "r"(#n));        \
	}
#define CALL(n) f##n();
#define TENS(each, t)                                                                           \
	each(t##0) each(t##1) each(t##2) each(t##3) each(t##4) each(t##5) each(t##6) each(t##7) \
		each(t##8) each(t##9)
#define ALL(each)     \
	TENS(each, 0) \
	TENS(each, 1) \
	TENS(each, 2) \
	TENS(each, 3) \
	TENS(each, 4) TENS(each, 5) TENS(each, 6) TENS(each, 7) TENS(each, 8) TENS(each, 9)

ALL(DEFINE)

static __attribute__((noinline)) void frequent(void)
{
	burn_ms(5);
	__asm__ volatile("");
}

int main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		for (int k = 0; k < 5; k++)
			frequent();
		ALL(CALL)
	}
	return 0;
}
