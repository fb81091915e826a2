/* SPDX-License-Identifier: MIT */
/* tests/unit/test_phase_parse.c - phases as a user writes them: NAME=FROM..TO */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/metrics/phases.h"

static void test_parse(void **state)
{
	static const struct {
		const char *text;
		double from_s, to_s;
	} good[] = {
		{ "a=1.5s..3.25s", 1.5, 3.25 }, { "a=1..2", 1, 2 },	 { "a=..200ms", 0, 0.2 },
		{ "a=500ms..", 0.5, INFINITY }, { "a=..", 0, INFINITY }, { "a=0.1...2", 0.1, 0.2 },
	};
	static const char *const bad[] = { "",	     "a",	 "a=",	    "=1..2",   "a=1",
					   "a=2..1", "a=1..1",	 "a=1x..2", "a=-1..2", "a=1..2y",
					   "a=s..2", "a=nan..2", "a=1..inf" };
	struct cpa_phase_range range;
	char text[32];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		strcpy(text, good[i].text);
		if (!cpa_phase_parse(text, &range))
			fail_msg("%s is good", good[i].text);
		assert_string_equal(range.name, "a");
		assert_true(range.from_s == good[i].from_s && range.to_s == good[i].to_s);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		strcpy(text, bad[i]);
		if (cpa_phase_parse(text, &range))
			fail_msg("%s is bad", bad[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
