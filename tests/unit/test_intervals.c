/* SPDX-License-Identifier: MIT */
/* tests/unit/test_intervals.c - the times at which the final longest path had its shares */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analysis/profile/intervals.h"

#define SAMPLES 5
#define SLOTS	3
#define CLOSE	1e-9

static double path[SLOTS][SAMPLES], final[SLOTS][SAMPLES];
static struct cpa_interval_sample sample[SAMPLES];
static struct cpa_slot_intervals slot[SLOTS];
static struct cpa_intervals intervals;

/* A sample each second, and a path as long as the run; no slot has anything. */
static int setup(void **state)
{
	(void)state;
	for (size_t i = 0; i < SAMPLES; i++)
		sample[i] = (struct cpa_interval_sample){ .at_s = (double)(i + 1),
							  .critical_path_s = (double)(i + 1) };
	for (size_t s = 0; s < SLOTS; s++) {
		for (size_t i = 0; i < SAMPLES; i++)
			path[s][i] = final[s][i] = 0;
		slot[s] = (struct cpa_slot_intervals){ .path_s = path[s], .final_s = final[s] };
	}
	intervals = (struct cpa_intervals){
		.period_s = 1,
		.samples = SAMPLES,
		.sample = sample,
		.slots = SLOTS,
		.slot = slot,
	};
	return 0;
}

static void fill(size_t s, const double *values)
{
	for (size_t i = 0; i < SAMPLES; i++)
		path[s][i] = values[i];
}

static double share(uint32_t s, size_t from, size_t to)
{
	return cpa_intervals_share(&intervals, s, from, to);
}

/* One path all the time: its shares are as sampled. */
static void test_one_path(void **state)
{
	(void)state;
	fill(1, (const double[]){ 1, 1.5, 2, 2, 3 });
	cpa_intervals_trace(&intervals);
	for (size_t i = 0; i < SAMPLES; i++)
		assert_float_equal(final[1][i], path[1][i], CLOSE);
	assert_float_equal(share(1, SIZE_MAX, 0), 1, CLOSE);
	assert_float_equal(share(1, 0, 1), 0.5, CLOSE);
	assert_float_equal(share(1, 2, 3), 0, CLOSE);
	assert_float_equal(share(1, SIZE_MAX, 4), 0.6, CLOSE);
}

/* A wait of four seconds ends, and its path is longer than the longest one until then. */
static void test_a_long_one_comes_late(void **state)
{
	(void)state;
	fill(1, (const double[]){ 0, 0, 0, 3.9, 4.9 });
	fill(2, (const double[]){ 1, 2, 3, 0.1, 0.1 });
	cpa_intervals_trace(&intervals);
	/* It had a part in each second, but for what cannot be. */
	assert_float_equal(share(1, SIZE_MAX, 0), 0.9, CLOSE);
	for (size_t i = 1; i < SAMPLES; i++)
		assert_float_equal(share(1, i - 1, i), 1, CLOSE);
	/* The other has a place on the path that it lost only in the end's share. */
	assert_float_equal(share(2, SIZE_MAX, 0), 0.1, CLOSE);
	for (size_t i = 1; i < SAMPLES; i++)
		assert_float_equal(share(2, i - 1, i), 0, CLOSE);
}

/* Time that is not on the final path has no share at any time; a slot without samples has none. */
static void test_not_of_the_last_path(void **state)
{
	(void)state;
	fill(1, (const double[]){ 1, 2, 3, 4, 0 });
	slot[2].path_s = NULL;
	cpa_intervals_trace(&intervals);
	assert_float_equal(share(1, SIZE_MAX, 4), 0, CLOSE);
	assert_float_equal(share(1, 1, 2), 0, CLOSE);
	assert_float_equal(share(2, SIZE_MAX, 4), 0, CLOSE);
	assert_float_equal(share(SLOTS, SIZE_MAX, 4), 0, CLOSE);
}

/*
 * One activity of four seconds in two functions: no order is invented, and shares do not exceed the
 * whole.
 */
static void test_a_long_activity_is_spread(void **state)
{
	(void)state;
	fill(1, (const double[]){ 0, 0, 0, 0, 2 });
	fill(2, (const double[]){ 0, 0, 0, 0, 3 });
	for (size_t i = 0; i + 1 < SAMPLES; i++)
		sample[i].part = 1 - 1.0 / (double)(i + 2);
	cpa_intervals_trace(&intervals);
	for (size_t i = 0; i < SAMPLES; i++) {
		assert_float_equal(share(1, i ? i - 1 : SIZE_MAX, i), 0.4, CLOSE);
		assert_float_equal(share(2, i ? i - 1 : SIZE_MAX, i), 0.6, CLOSE);
	}
}

/* A path that did not grow has no shares; clocks that stand still count nothing twice. */
static void test_nothing_grew(void **state)
{
	(void)state;
	for (size_t i = 0; i < SAMPLES; i++)
		sample[i].at_s = sample[i].critical_path_s = 2;
	fill(1, (const double[]){ 0, 0, 1, 1, 2 });
	cpa_intervals_trace(&intervals);
	assert_float_equal(share(1, 0, 4), 0, CLOSE);
	for (size_t i = 0; i < SAMPLES; i++)
		assert_float_equal(final[1][i], 2, CLOSE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		TEST(test_one_path),
		TEST(test_a_long_one_comes_late),
		TEST(test_not_of_the_last_path),
		TEST(test_a_long_activity_is_spread),
		TEST(test_nothing_grew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
