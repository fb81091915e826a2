/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_delay.c - the file of a thread's delay is read at its number, and no other that is there
 *
 * The program closes all descriptors, as daemons do. The number is then free, or another file has it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

/* NOLINTNEXTLINE(bugprone-suspicious-include): part of the library alone. */
#include "preload/clock/delay.c"
#include "tests/unit/shadow_session.h"

bool cpa_fd_guard_begin(sigset_t *signals)
{
	(void)signals;
	return true;
}

void cpa_fd_guard_end(const sigset_t *signals)
{
	(void)signals;
}

static int setup(void **state)
{
	(void)state;
	return test_session(UINT64_C(64) << 20, 4096);
}

/* Open the thread's file. */
static struct cpa_clock opened(void)
{
	struct cpa_clock clock = { .schedstat = -1 };
	uint64_t delay;

	if (!cpa_delay_read(&clock, &delay))
		skip(); /* the kernel does not show delays */
	assert_true(clock.schedstat >= FIRST_DESCRIPTOR);
	return clock;
}

static void test_closed(void **state)
{
	struct cpa_clock clock = opened();
	uint64_t delay;

	(void)state;
	close(clock.schedstat);
	assert_false(cpa_delay_read(&clock, &delay));
	assert_int_equal(clock.schedstat, -1);
	assert_true(cpa_delay_read(&clock, &delay));
	cpa_delay_close(&clock);
	assert_int_equal(fcntl(clock.schedstat, F_GETFD), -1);
}

/* The number has another thread's file: its text has the same form. */
static void test_another(void **state)
{
	struct cpa_clock clock = opened();
	int other = open("/proc/self/schedstat", O_RDONLY), number = clock.schedstat;
	uint64_t delay;

	(void)state;
	assert_int_equal(dup2(other, number), number);
	assert_false(cpa_delay_read(&clock, &delay));
	assert_true(cpa_delay_read(&clock, &delay));
	assert_int_not_equal(clock.schedstat, number);
	cpa_delay_close(&clock);
	assert_int_not_equal(fcntl(number, F_GETFD), -1);
	close(number);
	close(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_closed),
		cmocka_unit_test(test_another),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, NULL);
}
