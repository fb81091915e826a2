/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_name.c - shadow/store/name.h: texts and marks
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "shadow/store/name.h"

#include "tests/unit/shadow_threads.h"

static const char *text(uint32_t row)
{
	return ((const struct cpa_name *)cpa_row(CPA_TABLE_NAMES, row))->text;
}

/* Equal texts have one row, wherever the text is stored. */
static void test_one_row(void **state)
{
	char parse[] = "parse", again[] = "parse";
	uint32_t row = cpa_name(parse);

	(void)state;
	assert_int_not_equal(row, 0);
	assert_int_equal(cpa_name(again), row);
	assert_int_not_equal(cpa_name("parsf"), row);
	assert_string_equal(text(row), "parse");
	assert_int_equal(cpa_table(CPA_TABLE_NAMES)->used, 2);
}

static void test_empty(void **state)
{
	(void)state;
	assert_int_not_equal(cpa_name(NULL), 0);
	assert_int_equal(cpa_name(NULL), cpa_name(""));
	assert_string_equal(text(cpa_name("")), "");
}

/* Long texts are cut; they are equal if the kept part is. */
static void test_cut(void **state)
{
	char long_text[500];
	uint32_t row;

	(void)state;
	memset(long_text, 'x', sizeof(long_text));
	long_text[sizeof(long_text) - 1] = 0;
	row = cpa_name(long_text);
	assert_int_equal(strlen(text(row)), CPA_NAME_SIZE - 1);
	long_text[300] = 'y';
	assert_int_equal(cpa_name(long_text), row);
	long_text[CPA_NAME_SIZE - 2] = 'y';
	assert_int_not_equal(cpa_name(long_text), row);
	long_text[CPA_NAME_SIZE - 1] = 0;
	assert_string_equal(text(cpa_name(long_text)), long_text);
}

/* A row whose key is the hash of another text, as if the two collided. */
static void test_collision(void **state)
{
	struct cpa_name *first = cpa_row(CPA_TABLE_NAMES, cpa_name("first"));
	uint32_t other;

	(void)state;
	strcpy(first->text, "FIRST");
	other = cpa_name("first");
	assert_ptr_not_equal(cpa_row(CPA_TABLE_NAMES, other), first);
	assert_string_equal(text(other), "first");
	assert_int_equal(cpa_name("first"), other);
}

static void test_no_space(void **state)
{
	char name[16];
	uint32_t row = 1, last = 0;

	(void)state;
	for (unsigned i = 0; row && i < 10000000; i++) {
		last = row;
		snprintf(name, sizeof(name), "n%u", i);
		row = cpa_name(name);
	}
	assert_int_equal(row, 0);
	assert_true(last > 1000);
	assert_int_equal(cpa_name("n0"), 1);
}

static void test_marks(void **state)
{
	uint32_t name = cpa_name("phase");

	(void)state;
	for (uint32_t i = 1; i <= CPA_MARKS_MAX + 10; i++)
		cpa_mark(name, 5, i * 2, i * 3);
	assert_int_equal(cpa_header()->diag[CPA_DIAG_MARKS_REFUSED], 10);
	assert_int_equal(cpa_table(CPA_TABLE_MARKS)->used, CPA_MARKS_MAX);
	for (uint32_t i = 1; i <= CPA_MARKS_MAX; i++) {
		const struct cpa_mark *m = cpa_row(CPA_TABLE_MARKS, i);

		assert_int_equal(m->key, i);
		assert_int_equal(m->ticks, i * 3);
		assert_int_equal(m->len, i * 2);
		assert_int_equal(m->name, name);
		assert_int_equal(m->thread, 5);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, threads_setup, threads_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_one_row),   TEST(test_empty),	   TEST(test_cut),
		TEST(test_collision), TEST(test_no_space), TEST(test_marks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
