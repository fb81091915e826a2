/* SPDX-License-Identifier: MIT */
/* tests/unit/test_epoch.c - the borders of the parts of a run, and switching from outside */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/ctl/control.h"
#include "shadow/store/epoch.h"
#include "shadow/store/table.h"

#define START 1000

static struct cpa_header header;

static int begin_on(void **state)
{
	(void)state;
	header = (struct cpa_header){ .start_ticks = START };
	cpa_epoch_begin(&header, true);
	return 0;
}

/* Time counts while profiling is on; switching to the present state changes nothing. */
static void test_time_while_on(void **state)
{
	(void)state;
	assert_int_equal(cpa_epoch_on(&header, START + 70), 70);
	assert_int_equal(cpa_epoch_change(&header, true, START + 80), 0);
	assert_int_equal(cpa_epoch_change(&header, false, START + 100), START + 100);
	assert_int_equal(cpa_epoch_change(&header, false, START + 110), 0);
	assert_int_equal(cpa_epoch_on(&header, START + 90), 90);
	assert_int_equal(cpa_epoch_on(&header, START + 500), 100);
	assert_int_equal(cpa_epoch_change(&header, true, START + 600), START + 600);
	assert_int_equal(cpa_epoch_on(&header, START + 605), 105);
	assert_int_equal(cpa_epoch_on(&header, START + 550), 100);
	assert_int_equal(cpa_epoch(&header), 3);
}

/* A run that begins off has no time until it is switched on. */
static void test_begins_off(void **state)
{
	(void)state;
	header = (struct cpa_header){ .start_ticks = START };
	cpa_epoch_begin(&header, false);
	assert_false(cpa_epoch_is_on(cpa_epoch(&header)));
	assert_int_equal(cpa_epoch_on(&header, START + 70), 0);
	cpa_epoch_change(&header, true, START + 100);
	assert_int_equal(cpa_epoch_on(&header, START + 130), 30);
}

/* A session without parts is on all the time, and cannot be switched. */
static void test_without_parts(void **state)
{
	(void)state;
	header = (struct cpa_header){ .start_ticks = START };
	assert_int_equal(cpa_epoch_on(&header, START + 70), 70);
	assert_int_equal(cpa_epoch_change(&header, false, START + 100), 0);
}

/* E2: borders grow, whichever clock the switching thread has read. */
static void test_borders_grow(void **state)
{
	(void)state;
	assert_int_equal(cpa_epoch_change(&header, false, START), START + 1);
	assert_int_equal(cpa_epoch_change(&header, true, 5), START + 2);
	assert_int_equal(cpa_epoch_on(&header, START + 10), 9);
}

/*
 * A thread that dies between the two steps of a change delays nobody: another finishes the change.
 */
static void test_half_a_change(void **state)
{
	(void)state;
	header.border[2].ticks = START + 50;
	assert_int_equal(cpa_epoch_change(&header, false, START + 90), START + 50);
	assert_int_equal(cpa_epoch_on(&header, START + 100), 50);
}

/* After many parts the sum is right, and the latest borders are kept. */
static void test_many_parts(void **state)
{
	uint64_t clock = START;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		clock += 10;
		assert_int_equal(cpa_epoch_change(&header, false, clock), clock);
		assert_int_equal(cpa_epoch_on(&header, clock + 1), 10 * (i + 1));
		clock += 7;
		assert_int_equal(cpa_epoch_change(&header, true, clock), clock);
	}
	assert_int_equal(cpa_epoch_on(&header, clock + 3), 10003);
	assert_int_equal(cpa_epoch_begun(&header, cpa_epoch(&header) - 1), clock - 7);
	/* Of an old clock only an upper bound is known. */
	assert_true(cpa_epoch_on(&header, START + 5) < 10003);
}

/* A file that is no session, or broken: a message, and nothing is written. */
static void test_control_refuses(void **state)
{
	char file[] = "/tmp/test_epoch.XXXXXX";
	struct cpa_control control;
	char *error = NULL;
	int fd = mkstemp(file);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(cpa_control_open(&control, file, &error), -1);
	assert_non_null(strstr(error, "not a session file"));
	free(error);
	memcpy(header.magic, CPA_MAGIC, sizeof(header.magic));
	header.byte_order = CPA_BYTE_ORDER;
	header.format = CPA_FORMAT + 1;
	header.header_size = CPA_HEADER_SIZE;
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(cpa_control_open(&control, file, &error), -1);
	assert_non_null(strstr(error, "another release"));
	free(error);
	/* A chunk that ends outside of the file: no table can hold a row. */
	header.format = CPA_FORMAT;
	header.table[CPA_TABLE_NAMES].row_size = sizeof(struct cpa_name);
	header.table[CPA_TABLE_NAMES].first_rows = 16;
	header.table[CPA_TABLE_NAMES].usable = 16;
	header.table[CPA_TABLE_NAMES].chunk[0] = UINT64_MAX - 64;
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(cpa_control_open(&control, file, &error), 0);
	assert_int_equal(cpa_control_mark(&control, "x", &error), -1);
	assert_non_null(strstr(error, "no space"));
	free(error);
	assert_int_equal(cpa_control_switch(&control, false, &error), 0);
	assert_int_equal(control.header->epoch, 2);
	control.header->state = CPA_COMPLETE;
	assert_int_equal(cpa_control_switch(&control, true, &error), -1);
	assert_non_null(strstr(error, "has ended"));
	free(error);
	cpa_control_close(&control);
	close(fd);
	unlink(file);
}

/* A file truncated while it is open: a message, for each request. */
static void test_control_of_what_is_cut(void **state)
{
	char file[] = "/tmp/test_epoch.XXXXXX";
	struct cpa_control control;
	char *error = NULL;
	int fd = mkstemp(file);

	(void)state;
	assert_true(fd >= 0);
	memcpy(header.magic, CPA_MAGIC, sizeof(header.magic));
	header.byte_order = CPA_BYTE_ORDER;
	header.format = CPA_FORMAT;
	header.header_size = CPA_HEADER_SIZE;
	for (unsigned marks = 0; marks < 2; marks++) {
		assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
		assert_int_equal(cpa_control_open(&control, file, &error), 0);
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(marks ? cpa_control_mark(&control, "x", &error) :
					 cpa_control_switch(&control, false, &error),
				 -1);
		assert_non_null(strstr(error, "was truncated"));
		free(error);
		cpa_control_close(&control);
	}
	close(fd);
	unlink(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_time_while_on, begin_on),
		cmocka_unit_test_setup(test_begins_off, begin_on),
		cmocka_unit_test_setup(test_without_parts, begin_on),
		cmocka_unit_test_setup(test_borders_grow, begin_on),
		cmocka_unit_test_setup(test_half_a_change, begin_on),
		cmocka_unit_test_setup(test_many_parts, begin_on),
		cmocka_unit_test_setup(test_control_refuses, begin_on),
		cmocka_unit_test_setup(test_control_of_what_is_cut, begin_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
