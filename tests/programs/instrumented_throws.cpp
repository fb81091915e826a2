/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/instrumented_throws.cpp - procedures left by exceptions
 */
#include "tests/programs/instrumented.h"

static struct in_thread in_main;

/* Says that a function began, and that it ended, however it did. */
struct scope {
	__attribute__((no_instrument_function)) explicit scope(const char *name)
	{
		in_begin(name);
	}
	__attribute__((no_instrument_function)) ~scope()
	{
		in_end();
	}
};

IN_PROGRAM void after()
{
	scope here("after");

	in_burn(4);
}

IN_PROGRAM void thrower(int n)
{
	scope here("thrower");

	in_burn(3);
	if (n == 0)
		throw n;
	thrower(n - 1);
	in_burn(1); /* never */
}

IN_PROGRAM void passed(int n)
{
	scope here("passed");

	in_burn(2);
	thrower(n);
}

IN_PROGRAM void catcher()
{
	scope here("catcher");

	for (int i = 0; i < 5; i++) {
		try {
			passed(i);
		} catch (int) {
			after();
			in_burn(6);
		}
	}
}

int main()
{
	static const struct in_thread *const threads[] = { &in_main };

	in_thread_begin(&in_main, "main");
	in_begin("main");
	catcher();
	in_print(threads, 1);
	return 0;
}
