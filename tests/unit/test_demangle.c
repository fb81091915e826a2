/* SPDX-License-Identifier: MIT */
/* tests/unit/test_demangle.c - names of several languages, and those that are left as they are */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analysis/symbols/demangle.h"

static void test_names(void **state)
{
	static const struct {
		const char *symbol, *location, *name;
	} known[] = {
		{ "plain", NULL, "plain" },
		{ "_ZN3app3SumIlE3addERKl", NULL, "app::Sum<long>::add" },
		{ "_ZZ4mainENKUlvE_clEv", NULL, "main::{lambda()#1}::operator()" },
		{ "_RNvNtCs1234_7mycrate3foo3bar", NULL, "mycrate::foo::bar" },
		{ "_ZN7mycrate3foo3bar17h0123456789abcdefE", NULL, "mycrate::foo::bar" },
		{ "_D8demangle4testFiZi", NULL, "demangle.test(int)" },
		{ "__solver_MOD_smooth", NULL, "solver::smooth" },
		{ "smooth_", "/src/solver.f90:12", "smooth" },
		{ "smooth_", "/src/solver.c:12", "smooth_" },
		/* No library of Debian reads names of Swift. */
		{ "$s4main3fib1nS2i_tF", NULL, "$s4main3fib1nS2i_tF" },
		{ "_Z", NULL, "_Z" },
		{ "_R", NULL, "_R" },
		{ "_D", NULL, "_D" },
		{ "_ZN3app\033[2J", NULL, "_ZN3app?[2J" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		char *name = cpa_demangle(known[i].symbol, known[i].location);

		assert_string_equal(name, known[i].name);
		free(name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_names) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
