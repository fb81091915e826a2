/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_unload.c - who unloads a library waits for a reader of its tables
 *
 * Also for one that has lost its processor, here for longer than any turn of the scheduler.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <time.h>

/* NOLINTNEXTLINE(bugprone-suspicious-include): its static variables are looked at. */
#include "preload/code/unload.c"

#define LOST_NS 100000000

static uint32_t unloaded; /* atomic */

static void *unload(void *argument)
{
	errno = ENOTTY;
	cpa_unload_begin();
	assert_int_equal(errno, ENOTTY);
	__atomic_store_n(&unloaded, 1, __ATOMIC_SEQ_CST);
	return argument;
}

static void sleep_ns(long ns)
{
	const struct timespec time = { .tv_nsec = ns };

	nanosleep(&time, NULL);
}

static void test_waits(void **state)
{
	pthread_t thread;

	(void)state;
	assert_true(cpa_unload_hold());
	assert_int_equal(pthread_create(&thread, NULL, unload, NULL), 0);
	while (!__atomic_load_n(&unloading, __ATOMIC_RELAXED))
		sleep_ns(1000);
	assert_false(cpa_unload_hold());
	sleep_ns(LOST_NS);
	assert_int_equal(__atomic_load_n(&unloaded, __ATOMIC_SEQ_CST), 0);
	cpa_unload_let();
	pthread_join(thread, NULL);
	assert_int_equal(unloaded, 1);
	assert_false(cpa_unload_hold());
	cpa_unload_end();
	assert_true(cpa_unload_hold());
	cpa_unload_let();
	assert_int_equal(reading | unloading, 0);
}

/* A child of fork() has no other threads that read; its own libraries are still to be unloaded. */
static void test_forked(void **state)
{
	(void)state;
	assert_true(cpa_unload_hold());
	unloading = 2; /* one of another thread */
	cpa_unload_forked(1);
	assert_false(cpa_unload_hold());
	assert_true(cpa_unload_hold_in(1)); /* a fork in a destructor */
	cpa_unload_let();
	assert_false(cpa_unload_hold_in(2));
	cpa_unload_end();
	assert_true(cpa_unload_hold());
	cpa_unload_let();
	assert_int_equal(reading | unloading, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_forked),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
