/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_progress.c - a progress line on the terminal, shown late enough and cleared at
 * the end
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/util/progress.h"

static int saved, other; /* the original stderr, and the other end of its replacement */
static char text[1000];

static void redirect(int to)
{
	saved = dup(STDERR_FILENO);
	dup2(to, STDERR_FILENO);
	close(to);
}

/* Restore stderr and return all that was written: nobody has the replacement open any more. */
static const char *restore(void)
{
	size_t size = 0;
	ssize_t n;

	dup2(saved, STDERR_FILENO);
	close(saved);
	while ((n = read(other, text + size, sizeof(text) - 1 - size)) > 0)
		size += (size_t)n;
	text[size] = '\0';
	close(other);
	return text;
}

static void use_terminal(void)
{
	int terminal;

	other = posix_openpt(O_RDWR | O_NOCTTY);
	assert_true(other >= 0);
	assert_int_equal(grantpt(other), 0);
	assert_int_equal(unlockpt(other), 0);
	terminal = open(ptsname(other), O_RDWR | O_NOCTTY);
	assert_true(terminal >= 0);
	redirect(terminal);
}

static void use_pipe(void)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	other = ends[0];
	redirect(ends[1]);
}

/* Work for longer than a second. */
static void work(void)
{
	cpa_progress_show("step %d", 1);
	nanosleep(&(struct timespec){ .tv_sec = 1, .tv_nsec = 100000000 }, NULL);
	cpa_progress_show("step %d", 2);
	cpa_progress_end();
}

static void test_terminal(void **state)
{
	(void)state;
	use_terminal();
	cpa_progress_allow("test");
	work();
	assert_string_equal(restore(), "\r\033[Ktest: step 2\r\033[K");
}

/* The second counts from the first step of each task. */
static void test_second_thing(void **state)
{
	(void)state;
	use_terminal();
	cpa_progress_allow("test");
	work();
	cpa_progress_show("soon done");
	cpa_progress_end();
	assert_string_equal(restore(), "\r\033[Ktest: step 2\r\033[K");
}

static void test_no_terminal(void **state)
{
	(void)state;
	use_pipe();
	cpa_progress_allow("test");
	work();
	assert_string_equal(restore(), "");
}

/* A caller that did not ask for it may use the terminal for something else. */
static void test_not_allowed(void **state)
{
	(void)state;
	use_terminal();
	work();
	assert_string_equal(restore(), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* First, because permission once given remains. */
		cmocka_unit_test(test_not_allowed),
		cmocka_unit_test(test_terminal),
		cmocka_unit_test(test_second_thing),
		cmocka_unit_test(test_no_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
