/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_sleeps.c - which threads do little but sleep, by preload/core/sleeps.h, and how long a sleep takes at
 * least
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "preload/clock/clock.h"
#include "preload/core/asleep.h"
#include "preload/core/sleeps.h"

#define US  1000u /* a tick is a nanosecond here */
#define ALL 100u

/* The thread works for @work before each sleep of @sleep. Return how often of ALL times it is idle. */
static unsigned idle(uint64_t work, uint64_t sleep)
{
	struct cpa_sleeps sleeps = { 0 };
	unsigned found = 0;

	for (unsigned i = 0; i < ALL; i++)
		found += cpa_sleeps_are_idle(&sleeps, work, sleep, CPA_SLEEPS_OWN);
	return found;
}

static void test_loops(void **state)
{
	(void)state;
	assert_int_equal(idle(0, 10000 * US), ALL - CPA_SLEEPS_FEW);
	assert_int_equal(idle(1000 * US, 10000 * US), ALL - CPA_SLEEPS_FEW);
	assert_int_equal(idle(1100 * US, 10000 * US), 0);
	assert_int_equal(idle(3000 * US, 10000 * US), 0);
}

/* What a sleep itself takes is no work, however short it is. */
static void test_brief_sleeps(void **state)
{
	(void)state;
	assert_int_equal(idle(20 * US, 55 * US), ALL - CPA_SLEEPS_FEW);
	assert_int_equal(idle(29 * US, 50 * US), ALL - CPA_SLEEPS_FEW);
	assert_int_equal(idle(16 * US, 155 * US), ALL - CPA_SLEEPS_FEW);
	assert_int_equal(idle(100 * US, 155 * US), 0);
}

/* Work at times, less than a tenth of all, ends no loop. */
static void test_at_times(void **state)
{
	struct cpa_sleeps sleeps = { 0 };
	unsigned found = 0;

	(void)state;
	for (unsigned i = 0; i < ALL; i++)
		found += cpa_sleeps_are_idle(&sleeps, i % 8 == 7 ? 2000 * US : 0, 10000 * US,
					     CPA_SLEEPS_OWN);
	assert_int_equal(found, ALL - CPA_SLEEPS_FEW);
}

/* What remains of @ready of 100 ticks without a processor, of which the thread slept for @asleep. */
static uint64_t ready_of(uint64_t ready, uint64_t asleep)
{
	struct cpa_elapsed e = { .process = 7, .runqueue = ready, .external = 100 - ready };

	cpa_elapsed_slept(&e, asleep);
	assert_int_equal(e.process, 7);
	assert_int_equal(e.runqueue + e.external, 100);
	return e.runqueue;
}

/* The kernel says that the thread was ready while it slept. */
static void test_ready_in_sleep(void **state)
{
	(void)state;
	assert_int_equal(ready_of(100, 90), 10);
	assert_int_equal(ready_of(11, 90), 10);
	assert_int_equal(ready_of(9, 90), 9);
	assert_int_equal(ready_of(100, 100), 0);
	assert_int_equal(ready_of(100, 103), 0);
	assert_int_equal(ready_of(100, 0), 100);
}

static void test_asked(void **state)
{
	(void)state;
	assert_int_equal(cpa_asleep_of(2, 5000), 1998004995);
	assert_int_equal(cpa_asleep_of(0, 999), 999);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loops),	 cmocka_unit_test(test_brief_sleeps),
		cmocka_unit_test(test_at_times), cmocka_unit_test(test_ready_in_sleep),
		cmocka_unit_test(test_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
