/* SPDX-License-Identifier: MIT */
/* tests/unit/test_report_printable.c - replacement of unprintable text */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/util/printable.h"

static void expect(const char *text, const char *expected)
{
	char *printable = cpa_printable(text, SIZE_MAX);

	assert_string_equal(printable, expected);
	free(printable);
}

static void test_plain_text_stays(void **state)
{
	(void)state;
	expect("", "");
	expect("std::vector<int>::push_back", "std::vector<int>::push_back");
	expect("gr\xc3\xb6\xc3\x9f"
	       "e \xe2\x82\xac \xf0\x9f\x98\x80",
	       "gr\xc3\xb6\xc3\x9f"
	       "e \xe2\x82\xac \xf0\x9f\x98\x80");
}

static void test_control_characters_go(void **state)
{
	(void)state;
	expect("a\033[2Jb\nc\td\x7f", "a?[2Jb?c?d?");
	expect("\xc2\x9b"
	       "31m",
	       "?31m"); /* CSI in one character */
	expect("a\xe2\x80\xae"
	       "b\xe2\x81\xa6"
	       "c\xe2\x80\xa8"
	       "d\xef\xbb\xbf",
	       "a?b?c?d?");
}

static void test_what_is_not_utf8_goes(void **state)
{
	(void)state;
	expect("\x80\xff", "??");
	expect("a\xc3", "a?");
	expect("\xc0\xaf", "??");	    /* overlong */
	expect("\xed\xa0\x80", "???");	    /* a surrogate */
	expect("\xf4\x90\x80\x80", "????"); /* beyond the last character */
	expect("\xe2\x82", "??");
}

/* Fields of the dump need not end in NUL. */
static void test_reads_no_further_than_told(void **state)
{
	const char field[4] = { 'a', 'b', '\xe2', '\x82' };
	char *printable = cpa_printable(field, sizeof(field));

	(void)state;
	assert_string_equal(printable, "ab??");
	free(printable);
}

static void test_columns_are_characters(void **state)
{
	(void)state;
	assert_int_equal(cpa_printable_columns("a\xc3\xb6\xe2\x82\xac"), 3);
	assert_int_equal(cpa_printable_bytes("a\xc3\xb6\xe2\x82\xac", 2), 3);
	assert_int_equal(cpa_printable_bytes("abc", 9), 3);
	assert_int_equal(cpa_printable_bytes("abc", 0), 0);
}

static void test_base(void **state)
{
	(void)state;
	assert_string_equal(cpa_printable_base("/a/b.c:7"), "b.c:7");
	assert_string_equal(cpa_printable_base("b.c"), "b.c");
	assert_string_equal(cpa_printable_base("/a/"), "/a/");
}

static void test_where_is_said_once(void **state)
{
	static const char library[] = "/usr/lib/libz.so.1";

	(void)state;
	assert_string_equal(cpa_printable_where("deflate", library), "libz.so.1");
	assert_string_equal(cpa_printable_where("libz.so.1+0x4970", library), "");
	assert_string_equal(cpa_printable_where("mutex from libz.so.1+0x4970", library), "");
	assert_string_equal(cpa_printable_where("read", "../io/read.c:26"), "read.c:26");
	assert_string_equal(cpa_printable_where("libz.so.1", library), "libz.so.1");
	assert_string_equal(cpa_printable_where("deflate", NULL), "");
	assert_string_equal(cpa_printable_where("deflate", ""), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_text_stays),
		cmocka_unit_test(test_control_characters_go),
		cmocka_unit_test(test_what_is_not_utf8_goes),
		cmocka_unit_test(test_reads_no_further_than_told),
		cmocka_unit_test(test_columns_are_characters),
		cmocka_unit_test(test_base),
		cmocka_unit_test(test_where_is_said_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
