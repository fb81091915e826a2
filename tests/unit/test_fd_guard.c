/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_fd_guard.c - a call of the program that takes a free number waits while ours is opened
 *
 * Also if the thread that opens it has lost its processor, here for longer than some turns of the
 * scheduler; and not again for one that does not come back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

/* NOLINTBEGIN(bugprone-suspicious-include): static variables are looked at; part of the library alone. */
#include "preload/libc/fd_guard.c"
#include "preload/libc/signal_mask.c"
/* NOLINTEND(bugprone-suspicious-include) */

#define LOST_NS	  150000000
#define SIGNAL_NS 1000000
#define CALLS	  1000
#define CALLS_S	  (CALLS * PATIENCE_S / 4) /* far less than a wait for each */

static uint32_t placed, wakes; /* atomic */

/* Those of the guard; and counts who is woken. */
static long counted(long number, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e,
		    uintptr_t f)
{
	if (number == SYS_futex && b == FUTEX_WAKE_PRIVATE)
		__atomic_fetch_add(&wakes, 1, __ATOMIC_SEQ_CST);
	return syscall(number, a, b, c, d, e, f);
}

void *cpa_real_find(const char *name, const char *version)
{
	(void)version;
	assert_string_equal(name, "syscall");
	return (void *)counted;
}

static void sleep_ns(long ns)
{
	const struct timespec time = { .tv_nsec = ns };

	nanosleep(&time, NULL);
}

static void place(void)
{
	errno = ENOTTY;
	cpa_fd_guard_place();
	assert_int_equal(errno, ENOTTY);
}

static void *take_number(void *argument)
{
	place();
	__atomic_store_n(&placed, 1, __ATOMIC_SEQ_CST);
	cpa_fd_guard_placed();
	return argument;
}

static void handle(int number)
{
	(void)number;
}

static void test_waits(void **state)
{
	const struct sigaction action = { .sa_handler = handle };
	sigset_t signals;
	pthread_t thread;

	(void)state;
	sigaction(SIGUSR1, &action, NULL);
	assert_true(cpa_fd_guard_begin(&signals));
	place(); /* a handler of a fault */
	cpa_fd_guard_placed();
	assert_int_equal(pthread_create(&thread, NULL, take_number, NULL), 0);
	while (!__atomic_load_n(&theirs, __ATOMIC_SEQ_CST))
		sleep_ns(1000);
	for (long slept = 0; slept < LOST_NS; slept += SIGNAL_NS) {
		pthread_kill(thread, SIGUSR1);
		sleep_ns(SIGNAL_NS);
	}
	assert_int_equal(__atomic_load_n(&placed, __ATOMIC_SEQ_CST), 0);
	cpa_fd_guard_end(&signals);
	pthread_join(thread, NULL);
	assert_int_equal(placed, 1);
	assert_int_equal(wakes, 1);
}

static void test_excludes(void **state)
{
	sigset_t signals;

	(void)state;
	place();
	assert_false(cpa_fd_guard_begin(&signals));
	cpa_fd_guard_placed();
	assert_true(cpa_fd_guard_begin(&signals));
	assert_false(cpa_fd_guard_begin(&signals));
	wakes = 0;
	cpa_fd_guard_end(&signals);
	assert_int_equal(ours | theirs, 0);
	assert_int_equal(wakes, 0); /* nobody waits */
}

static void test_lost(void **state)
{
	struct timespec begun, now;
	sigset_t signals;

	(void)state;
	ours = HELD; /* a thread that does not come back */
	clock_gettime(CLOCK_MONOTONIC, &begun);
	for (unsigned i = 0; i < CALLS; i++) {
		place();
		cpa_fd_guard_placed();
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	assert_true(now.tv_sec - begun.tv_sec >= PATIENCE_S);
	assert_true(now.tv_sec - begun.tv_sec < CALLS_S);
	assert_false(cpa_fd_guard_begin(&signals));
	cpa_fd_guard_end(&signals); /* it does */
	assert_true(cpa_fd_guard_begin(&signals));
	cpa_fd_guard_end(&signals);
	assert_int_equal(ours | theirs, 0);
}

/* In the child of a fork, by a handler that interrupted a call of the program. */
static void test_forked(void **state)
{
	sigset_t signals;

	(void)state;
	ours = HELD; /* by a thread that the child does not have */
	theirs = 3;  /* ditto */
	placing = 1;
	placing++; /* the fork: cpa_fd_guard_place() would wait */
	cpa_fd_guard_forked();
	assert_false(cpa_fd_guard_begin(&signals));
	cpa_fd_guard_placed();
	assert_true(cpa_fd_guard_begin(&signals));
	cpa_fd_guard_end(&signals);
	assert_int_equal(ours | theirs | placing, 0);
}

/* A handler that interrupted a call, and called another itself, jumps out of both, or out of the inner one. */
static void test_left_by_a_jump(void **state)
{
	uint64_t outer, inner;
	sigset_t signals;

	(void)state;
	assert_int_equal(cpa_fd_guard_frame(), 0);
	place();
	outer = cpa_fd_guard_frame();
	assert_in_range((uint64_t)__builtin_frame_address(0) - outer, 1, 4096);
	place();
	inner = cpa_fd_guard_frame();
	assert_int_not_equal(inner, 0);
	cpa_fd_guard_placed();
	assert_int_equal(cpa_fd_guard_frame(), outer);
	cpa_fd_guard_placed();
	assert_int_equal(cpa_fd_guard_frame(), 0);
	assert_int_equal(theirs | placing, 0);

	place();
	cpa_fd_guard_placed(); /* by a jump; and yet it returns */
	cpa_fd_guard_placed();
	assert_int_equal(theirs | placing, 0);

	for (unsigned i = 0; i < 2 * FRAMES; i++)
		place();
	assert_int_equal(cpa_fd_guard_frame(), 0); /* too many to know */
	cpa_fd_guard_ended();
	assert_int_equal(theirs | placing, 0);
	assert_true(cpa_fd_guard_begin(&signals));
	cpa_fd_guard_end(&signals);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits),	       cmocka_unit_test(test_excludes),
		cmocka_unit_test(test_lost),	       cmocka_unit_test(test_forked),
		cmocka_unit_test(test_left_by_a_jump),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
