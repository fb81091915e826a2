/* SPDX-License-Identifier: MIT */
/* tests/unit/test_source.c - preload/clock/source.c: which counters are used */
#include "tests/unit/clock_thread.h"

/* A counter that keeps time is used, however long the run is. */
static void test_good_counter(void **state)
{
	(void)state;
	machine_begin(3, 0);
	clocks_begin();
	thread_begin();
	fake.disturbs = 5;
	pass_ms(3000);
	assert_true(origin.ns && latest.ns > origin.ns);
	assert_int_equal(cpa_header()->machine.source, CPA_SOURCE_COUNTER);
}

/* A counter that drifts, or differs between processors, is detected and no longer used. */
static void bad_counter(double wrong, double jump_us)
{
	uint64_t begun, told;

	machine_begin(4, (uint64_t)(jump_us + wrong * 1e6 + 1e9));
	clocks_begin();
	thread_begin();
	begun = fake.ticks;
	pass_ms(400);
	assert_int_equal(cpa_header()->machine.source, CPA_SOURCE_COUNTER);
	fake.wrong = wrong;
	fake.jump = (int64_t)(jump_us * 1000 * fake.ghz);
	pass_ms(400);
	assert_int_equal(cpa_header()->machine.source, CPA_SOURCE_DRIFT);
	assert_true(cpa_source_is_kernel && cpa_header()->machine.drift_ticks > us(20));
	pass_ms(1000);
	event(false);
	/* From the last good moment on, times are as if the counter had been right. */
	told = run.clock.last - run.begun;
	print_message("off by %.2f %% and %.0f us: told %.1f ms of %.1f\n", wrong * 100, jump_us,
		      (double)told / (double)us(1000),
		      (double)(fake.ticks - begun) / (double)us(1000));
	assert_true(apart(told, fake.ticks - begun) < (double)us(500));
}

static void test_bad_counter(void **state)
{
	(void)state;
	bad_counter(0.001, 0);
	bad_counter(-0.001, 0);
	bad_counter(0.05, 0);
	bad_counter(0, 300);
	bad_counter(0, -300);
	bad_counter(0, 50000);
	bad_counter(0, -50000);
}

/* A counter that the kernel does not trust is never used. */
static void test_distrusted_counter(void **state)
{
	uint64_t begun, told;

	(void)state;
	machine_begin(5, 0);
	fake.distrusted = true;
	fake.wrong = 0.2;
	clocks_begin();
	assert_int_equal(cpa_header()->machine.source, CPA_SOURCE_KERNEL);
	thread_begin();
	begun = fake.ticks;
	pass_ms(500);
	told = run.clock.last - run.begun;
	/* Ticks are nanoseconds. */
	assert_true(apart(told, fake_ns(fake.ticks - begun)) < 500000);
	fake.distrusted = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_counter),
		cmocka_unit_test(test_bad_counter),
		cmocka_unit_test(test_distrusted_counter),
	};

	return cmocka_run_group_tests_name("source", tests, begin, NULL);
}
