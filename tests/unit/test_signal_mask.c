/* SPDX-License-Identifier: MIT */
/* tests/unit/test_signal_mask.c - between hold and let no thread is cancelled, and then it is */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>

/* NOLINTNEXTLINE(bugprone-suspicious-include): it is part of the library alone. */
#include "preload/libc/signal_mask.c"

static uint32_t held, cancelled, went_on; /* atomic */

static void *compute(void *argument)
{
	sigset_t before;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	before = cpa_signal_hold();
	__atomic_store_n(&held, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&cancelled, __ATOMIC_SEQ_CST))
		;
	__atomic_store_n(&went_on, 1, __ATOMIC_SEQ_CST);
	cpa_signal_let(&before);
	return argument;
}

static void test_cancel(void **state)
{
	pthread_t thread;
	void *result;

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		held = cancelled = went_on = 0;
		assert_int_equal(pthread_create(&thread, NULL, compute, NULL), 0);
		while (!__atomic_load_n(&held, __ATOMIC_SEQ_CST))
			sched_yield();
		assert_int_equal(pthread_cancel(thread), 0);
		__atomic_store_n(&cancelled, 1, __ATOMIC_SEQ_CST);
		assert_int_equal(pthread_join(thread, &result), 0);
		assert_ptr_equal(result, PTHREAD_CANCELED);
		assert_int_equal(went_on, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cancel),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
