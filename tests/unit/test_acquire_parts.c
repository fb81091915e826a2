/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_acquire_parts.c - shadow/edge/acquire.h: waits that cross a border of parts of the run
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shadow/edge/acquire.h"
#include "shadow/edge/release.h"
#include "shadow/store/epoch.h"

#include "tests/unit/shadow_threads.h"

static struct cpa_object *object;

static int setup(void **state)
{
	int ret = threads_setup(state);

	if (!ret)
		object = cpa_row(CPA_TABLE_OBJECTS, cpa_table_append(CPA_TABLE_OBJECTS));
	return ret;
}

static int teardown(void **state)
{
	cpa_object_clear(&t[0], object);
	return threads_teardown(state);
}

/* The wait went on when its part of the run ended: whatever was released meanwhile did not end it. */
static void test_wait_behind_the_part(void **state)
{
	struct cpa_wait w = { .arrived = 20, .now = 60, .border = CPA_WAIT_CUT };

	(void)state;
	at(0, 20, 3)->row->path.observed[CPA_TIME_PROCESS] = 3;
	cpa_lock_release(at(1, 27, 5), object);
	cpa_lock_acquired(&t[0], object, &w);
	assert_int_equal(t[0].row->path.len, 5);
	assert_int_equal(t[0].row->path.observed[CPA_TIME_PROCESS], 3);
	assert_int_equal(t[0].row->path.observed[CPA_TIME_HANDOFF], 0);
}

/*
 * A wait since 20, when the part began, that is on the path as external time: a release at 30 explains it,
 * and one at 10 does not.
 */
static void test_wait_begun_before_the_part(void **state)
{
	struct cpa_wait w = { .arrived = 20, .now = 32, .border = CPA_WAIT_BEGUN };

	(void)state;
	for (uint64_t released = 10; released <= 30; released += 20) {
		at(0, 32, 3);
		t[0].row->path.observed[CPA_TIME_EXTERNAL] = 12;
		at(1, released, 5);
		cpa_lock_release(&t[1], object);
		w.arrived = 20;
		cpa_lock_acquired(&t[0], object, &w);
		assert_int_equal(w.arrived, w.now);
		assert_int_equal(t[0].row->path.observed[CPA_TIME_HANDOFF], released == 30 ? 2 : 0);
		assert_int_equal(t[0].row->path.observed[CPA_TIME_EXTERNAL],
				 released == 30 ? 0 : 12);
	}
}

/*
 * A wait from 20 to 100, noted when profiling had been off from 40 to 90: it has 30 ticks. A release at 30 explains it,
 * with a latency of 20, and one at 10 does not.
 */
static void test_wait_noted_late(void **state)
{
	(void)state;
	cpa_epoch_begin(cpa_header(), true);
	cpa_epoch_change(cpa_header(), false, 40);
	cpa_epoch_change(cpa_header(), true, 90);
	for (uint64_t released = 10; released <= 30; released += 20) {
		struct cpa_wait w = { .arrived = 70, .now = 100, .border = CPA_WAIT_LATE };
		uint64_t *observed = t[0].row->path.observed;

		at(0, 20, 3);
		observed[CPA_TIME_PROCESS] = 20;
		observed[CPA_TIME_HANDOFF] = 0;
		at(1, released, 5)->row->path.observed[CPA_TIME_EXTERNAL] = released;
		cpa_lock_release(&t[1], object);
		cpa_lock_acquired(&t[0], object, &w);
		assert_int_equal(observed[CPA_TIME_HANDOFF], released == 30 ? 20 : 30);
		assert_int_equal(observed[CPA_TIME_EXTERNAL], released == 30 ? 30 : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_wait_behind_the_part, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wait_begun_before_the_part, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wait_noted_late, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
