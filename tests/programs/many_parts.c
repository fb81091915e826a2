/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/many_parts.c - one activity with many functions: four hundred have 1 ms of CPU time in each of 5
 * rounds, f000 to f399, and frequent() has as much as a hundred of them. Each is called by main() alone.
 */
#include "tests/programs/burn.h"

#define ROUNDS 5

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
#define HUNDREDS(each, h) \
	TENS(each, h##0)  \
	TENS(each, h##1)  \
	TENS(each, h##2)  \
	TENS(each, h##3)  \
	TENS(each, h##4)  \
	TENS(each, h##5)  \
	TENS(each, h##6) TENS(each, h##7) TENS(each, h##8) TENS(each, h##9)
#define ALL(each) HUNDREDS(each, 0) HUNDREDS(each, 1) HUNDREDS(each, 2) HUNDREDS(each, 3)

ALL(DEFINE)

static __attribute__((noinline)) void frequent(void)
{
	burn_ms(5);
	__asm__ volatile("");
}

int main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		for (int k = 0; k < 20; k++)
			frequent();
		ALL(CALL)
	}
	return 0;
}
