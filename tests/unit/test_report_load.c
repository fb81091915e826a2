/* SPDX-License-Identifier: MIT */
/* tests/unit/test_report_load.c - which session files are refused, and which rows are read */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/input/load.h"
#include "tests/unit/dump_maker.h"

static struct dump_maker maker;

static int setup(void **state)
{
	(void)state;
	dump_maker_example(&maker);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	dump_maker_free(&maker);
	return 0;
}

/* The file is refused in one line that has @offset and @words. */
static void expect_refusal(const char *name, const char *offset, const char *words)
{
	struct cpa_dump dump;
	char *error = NULL, *begin = NULL;

	assert_int_equal(cpa_dump_open(&dump, name, &error), -1);
	assert_non_null(error);
	assert_true(asprintf(&begin, "%s:%s", name, offset) > 0);
	assert_ptr_equal(strstr(error, begin), error);
	if (!strstr(error, words))
		fail_msg("\"%s\" is not in \"%s\"", words, error);
	assert_null(strchr(error, '\n'));
	free(begin);
	free(error);
}

static void expect_header_refused(const char *offset, const char *words)
{
	dump_maker_save(&maker, maker_file, SIZE_MAX);
	expect_refusal(maker_file, offset, words);
}

static struct cpa_dump open_good(void)
{
	struct cpa_dump dump;
	char *error = NULL;

	dump_maker_save(&maker, maker_file, SIZE_MAX);
	if (cpa_dump_open(&dump, maker_file, &error) < 0)
		fail_msg("%s", error);
	return dump;
}

static void test_wrong_magic(void **state)
{
	(void)state;
	dump_maker_header(&maker)->magic[0] = 'X';
	expect_header_refused("0x0: ", "a cpa session file expected");
}

static void test_wrong_byte_order(void **state)
{
	(void)state;
	dump_maker_header(&maker)->byte_order = 0x04030201;
	expect_header_refused("0x8: ", "0x04030201 found, 0x01020304 expected");
}

static void test_wrong_format(void **state)
{
	(void)state;
	dump_maker_header(&maker)->format = 99;
	expect_header_refused("0xc: ", "format 99 found, 21 expected");
}

static void test_wrong_header_size(void **state)
{
	(void)state;
	dump_maker_header(&maker)->header_size = 4096;
	expect_header_refused("0x10: ", "header size 4096 found, 16384 expected");
}

static void test_wrong_number_of_tables(void **state)
{
	(void)state;
	dump_maker_header(&maker)->tables = 25;
	expect_header_refused("0x14: ", "number of tables 25 found");
	dump_maker_header(&maker)->tables = 0;
	expect_header_refused("0x14: ", "number of tables 0 found");
}

static void test_wrong_slots(void **state)
{
	(void)state;
	dump_maker_header(&maker)->slots = UINT32_MAX;
	expect_header_refused("0x", "number of slots 4294967295 found");
	dump_maker_header(&maker)->slots = 0;
	expect_header_refused("0x", "number of slots 0 found");
}

static void test_wrong_state(void **state)
{
	(void)state;
	dump_maker_header(&maker)->state = 7;
	expect_header_refused("0x", "session state 7 found");
}

static void test_no_start(void **state)
{
	(void)state;
	dump_maker_header(&maker)->start_ticks = 0;
	expect_header_refused("0x", "start time 0 found");
}

static void test_end_before_start(void **state)
{
	(void)state;
	dump_maker_header(&maker)->end_ticks = MAKER_START - 1;
	expect_header_refused("0x", "end time 999999 found");
}

static void test_wrong_table(void **state)
{
	struct cpa_table *table = dump_maker_header(&maker)->table;

	(void)state;
	table[CPA_TABLE_EDGES].row_size = 0;
	expect_header_refused("0x", "row size 0 found");
	table[CPA_TABLE_EDGES].row_size = UINT32_MAX;
	expect_header_refused("0x", "row size 4294967295 found");
	table[CPA_TABLE_EDGES].row_size = sizeof(struct cpa_edge);
	table[CPA_TABLE_EDGES].first_rows = 3;
	expect_header_refused("0x", "first chunk's number of rows 3 found");
	table[CPA_TABLE_EDGES].first_rows = 2;
	table[CPA_TABLE_EDGES].chunk[1] = 64;
	expect_header_refused("0x", "chunk offset 64 found");
}

static void test_not_a_file(void **state)
{
	(void)state;
	expect_refusal("/tmp/no such dump", " ", "No such file or directory");
	expect_refusal("/tmp", "0x0: ", "a folder found");
	expect_refusal("/dev/zero", "0x0: ", "a special file found");
}

/* The message stays one line, whatever the file's name. */
static void test_strange_name(void **state)
{
	struct cpa_dump dump;
	char *error;

	(void)state;
	assert_int_equal(cpa_dump_open(&dump, "/tmp/a\n\033[2J", &error), -1);
	assert_ptr_equal(strstr(error, "/tmp/a??[2J: "), error);
	free(error);
}

static void test_fifo_does_not_block(void **state)
{
	char name[PATH_MAX];

	(void)state;
	/* No other run of this test has that. */
	snprintf(name, sizeof(name), "%s.fifo", maker_file);
	assert_int_equal(mkfifo(name, 0600), 0);
	expect_refusal(name, "0x0: ", "a special file found");
	unlink(name);
}

/* Truncated inside the header: refused. Behind it: read, and the missing part is counted. */
static void test_cut_file(void **state)
{
	struct cpa_dump dump;
	char *error;

	(void)state;
	dump_maker_save(&maker, maker_file, 0);
	expect_refusal(maker_file, "0x0: ", "an empty file found");
	dump_maker_save(&maker, maker_file, CPA_HEADER_SIZE - 1);
	expect_refusal(maker_file, "0x3fff: ", "end of file at byte 16383 found");
	for (size_t size = CPA_HEADER_SIZE; size < maker.size; size += 7) {
		struct cpa_thread row;

		dump_maker_save(&maker, maker_file, size);
		assert_int_equal(cpa_dump_open(&dump, maker_file, &error), 0);
		if (size == CPA_HEADER_SIZE)
			assert_int_equal(dump.broken[CPA_TABLE_THREADS], 2);
		for (uint32_t i = 0; i <= 3; i++)
			cpa_dump_row(&dump, CPA_TABLE_THREADS, i, &row, sizeof(row));
		cpa_dump_close(&dump);
	}
}

/* Rows are found in every chunk; unused ones are skipped. */
static void test_rows(void **state)
{
	struct cpa_dump dump;
	struct cpa_component row;

	(void)state;
	((struct cpa_component *)dump_maker_at(&maker, CPA_TABLE_COMPONENTS, 8))->key = 0;
	dump = open_good();
	assert_int_equal(dump.rows[CPA_TABLE_COMPONENTS], maker.rows[CPA_TABLE_COMPONENTS]);
	for (uint32_t i = 0; i <= 12; i++) {
		bool exists = i >= 1 && i <= maker.rows[CPA_TABLE_COMPONENTS] && i != 8;

		assert_int_equal(cpa_dump_row(&dump, CPA_TABLE_COMPONENTS, i, &row, sizeof(row)),
				 exists);
		if (exists)
			assert_memory_equal(dump_maker_at(&maker, CPA_TABLE_COMPONENTS, i), &row,
					    sizeof(row));
	}
	cpa_dump_close(&dump);
}

/* A writer of the same format may have known fewer fields of a row. */
static void test_short_rows(void **state)
{
	struct cpa_table *table = &dump_maker_header(&maker)->table[CPA_TABLE_SITES];
	struct cpa_dump dump;
	struct cpa_site row = { 1, 2, 3 };

	(void)state;
	table->row_size = offsetof(struct cpa_site, module);
	dump = open_good();
	assert_true(cpa_dump_row(&dump, CPA_TABLE_SITES, 1, &row, sizeof(row)));
	assert_true(row.key > 1);
	assert_int_equal(row.module, 0);
	assert_int_equal(row.function, 0);
	cpa_dump_close(&dump);
}

/* An absurd number of rows takes no time and is reported. */
static void test_too_many_rows(void **state)
{
	struct cpa_table *table = &dump_maker_header(&maker)->table[CPA_TABLE_NODES];
	struct cpa_dump dump;

	(void)state;
	table->used = UINT32_MAX;
	dump = open_good();
	assert_true(dump.rows[CPA_TABLE_NODES] < 100);
	assert_int_equal(dump.broken[CPA_TABLE_NODES], UINT32_MAX - dump.rows[CPA_TABLE_NODES]);
	cpa_dump_close(&dump);
}

static void test_chunk_behind_the_file(void **state)
{
	struct cpa_table *table = &dump_maker_header(&maker)->table[CPA_TABLE_NODES];
	struct cpa_dump dump;
	struct cpa_node row;

	(void)state;
	table->chunk[0] = UINT64_MAX - 8;
	dump = open_good();
	assert_false(cpa_dump_row(&dump, CPA_TABLE_NODES, 1, &row, sizeof(row)));
	assert_true(cpa_dump_row(&dump, CPA_TABLE_NODES, 3, &row, sizeof(row)));
	cpa_dump_close(&dump);
}

static void test_bytes(void **state)
{
	struct cpa_dump dump = open_good();
	char byte;

	(void)state;
	assert_true(cpa_dump_bytes(&dump, CPA_HEADER_SIZE, &byte, 1));
	assert_true(cpa_dump_bytes(&dump, maker.size - 1, &byte, 1));
	assert_false(cpa_dump_bytes(&dump, maker.size, &byte, 1));
	assert_false(cpa_dump_bytes(&dump, maker.size - 1, &byte, 2));
	assert_false(cpa_dump_bytes(&dump, UINT64_MAX, &byte, UINT64_MAX));
	assert_false(cpa_dump_bytes(&dump, 0, &byte, 1)); /* the header is no place for data */
	cpa_dump_close(&dump);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_wrong_magic),	  TEST(test_wrong_byte_order),
		TEST(test_wrong_format),  TEST(test_wrong_header_size),
		TEST(test_wrong_slots),	  TEST(test_wrong_number_of_tables),
		TEST(test_wrong_state),	  TEST(test_no_start),
		TEST(test_wrong_table),	  TEST(test_end_before_start),
		TEST(test_not_a_file),	  TEST(test_strange_name),
		TEST(test_cut_file),	  TEST(test_fifo_does_not_block),
		TEST(test_rows),	  TEST(test_short_rows),
		TEST(test_too_many_rows), TEST(test_chunk_behind_the_file),
		TEST(test_bytes),
	};

	return cmocka_run_group_tests(tests, dump_maker_file, dump_maker_unlink);
}
