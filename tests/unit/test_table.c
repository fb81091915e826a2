/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_table.c - shadow/store/table.h: rows by number and by key
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "shadow/store/index.h"

#include "tests/unit/shadow_session.h"

#define SITES CPA_TABLE_SITES

static int setup(void **state)
{
	(void)state;
	return test_session(UINT64_C(256) << 20, 256);
}

static int setup_small(void **state)
{
	(void)state;
	return test_session(UINT64_C(2) << 20, 256);
}

static int teardown(void **state)
{
	(void)state;
	cpa_session_destroy();
	return 0;
}

static void fill(void *row, const void *argument)
{
	((struct cpa_site *)row)->module = *(const uint32_t *)argument;
}

static uint32_t intern(uint64_t key, uint32_t module)
{
	return cpa_table_intern(SITES, key, fill, &module);
}

static uint64_t key_of(uint32_t i)
{
	return 0x7f0000000000 + (uint64_t)i * 16;
}

/* One key, one row: over all levels of the index each key is found once. */
static void test_many_keys(void **state)
{
	enum { KEYS = 1200000 };
	uint8_t *seen = calloc(KEYS + 1, 1);
	uint32_t levels = 0;

	(void)state;
	assert_non_null(seen);
	for (uint32_t i = 0; i < KEYS; i++) {
		uint32_t row = intern(key_of(i), i);

		assert_in_range(row, 1, KEYS);
		assert_int_equal(seen[row], 0);
		seen[row] = 1;
	}
	for (uint32_t i = 0; i < KEYS; i++) {
		uint32_t row = cpa_table_find(SITES, key_of(i));
		const struct cpa_site *site = cpa_row(SITES, row);

		assert_true(row != 0);
		assert_int_equal(site->key, key_of(i));
		assert_int_equal(site->module, i);
		assert_int_equal(intern(key_of(i), 0), row);
	}
	for (uint32_t i = 0; i < CPA_INDEX_LEVELS; i++)
		levels += cpa_table(SITES)->index[i] != 0;
	assert_int_equal(levels, CPA_INDEX_LEVELS);
	assert_int_equal(cpa_table(SITES)->used, KEYS);
	assert_int_equal(cpa_table(SITES)->refused, 0);
	free(seen);
}

/*
 * Keys that share a line in each level, and in the last level its last line: the lines behind it,
 * starting again at the first, take the rest.
 */
static void test_shared_lines(void **state)
{
	enum { ROOM = CPA_INDEX_PROBES * CPA_INDEX_LINE };
	const uint64_t last = cpa_index_lines(CPA_INDEX_LEVELS - 1) - 1;
	uint64_t key[ROOM + 1];
	unsigned n = 0;

	(void)state;
	for (uint64_t k = 1; n <= ROOM; k++)
		if ((cpa_index_hash(k) & last) == last)
			key[n++] = k;
	for (uint32_t i = 0; i < ROOM; i++)
		assert_int_equal(intern(key[i], i), i + 1);
	assert_int_equal(intern(key[ROOM], 0), 0);
	assert_int_equal(cpa_table(SITES)->refused, 1);
	for (uint32_t i = 0; i < ROOM; i++) {
		assert_int_equal(cpa_table_find(SITES, key[i]), i + 1);
		assert_int_equal(intern(key[i], 0), i + 1);
	}
	assert_int_equal(cpa_table_find(SITES, key[ROOM]), 0);
}

/* A key that differs in any one bit is another key. */
static void test_similar_keys(void **state)
{
	(void)state;
	intern(UINT64_C(1) << 63, 64);
	for (uint32_t bit = 0; bit < 63; bit++)
		assert_int_equal(intern(UINT64_C(1) << bit | UINT64_C(1) << 63, bit), bit + 2);
	for (uint32_t bit = 0; bit < 63; bit++)
		assert_int_equal(cpa_table_find(SITES, UINT64_C(1) << bit), 0);
}

static void test_not_found(void **state)
{
	(void)state;
	assert_int_equal(cpa_table_find(SITES, 1), 0);
	intern(1, 0);
	assert_int_equal(cpa_table_find(SITES, 2), 0);
	assert_int_equal(cpa_table_find(CPA_TABLE_NODES, 1), 0);
}

/* Rows are zero, aligned for their type, disjoint, and never move. */
static void test_rows(void **state)
{
	static struct cpa_object *row[3000];

	(void)state;
	for (uint32_t i = 0; i < 3000; i++) {
		assert_int_equal(cpa_table_append(CPA_TABLE_OBJECTS), i + 1);
		row[i] = cpa_row(CPA_TABLE_OBJECTS, i + 1);
		assert_int_equal((uintptr_t)row[i] % CPA_CACHE_LINE, 0);
		assert_int_equal(row[i]->round[CPA_ROUNDS - 1], 0);
		memset(row[i], 0x55, sizeof(*row[i]));
		row[i]->key = i;
	}
	for (uint32_t i = 0; i < 3000; i++) {
		assert_ptr_equal(row[i], cpa_row(CPA_TABLE_OBJECTS, i + 1));
		assert_int_equal(row[i]->key, i);
	}
}

/* No space: refused and counted; existing rows are still found. */
static void test_full(void **state)
{
	uint32_t rows = 0;

	(void)state;
	while (intern(key_of(rows), rows))
		rows++;
	assert_true(rows > 1000);
	assert_true(cpa_table(SITES)->refused > 0);
	assert_int_equal(intern(key_of(rows + 1), 0), 0);
	assert_true(cpa_header()->used <= cpa_header()->limit);
	for (uint32_t i = 0; i < rows; i++)
		assert_int_equal(intern(key_of(i), 0), cpa_table_find(SITES, key_of(i)));
	while (cpa_table_append(CPA_TABLE_TOKENS))
		;
	assert_int_equal(cpa_table_append(CPA_TABLE_TOKENS), 0);
	assert_true(cpa_table(CPA_TABLE_TOKENS)->refused > 1);
}

static jmp_buf target;

static uint64_t jump_out(uint64_t size)
{
	(void)size;
	longjmp(target, 1);
}

static long sleeps(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

/* A signal handler jumps out of a growth. Then the next one waits, and those after it no more. */
static void test_growth_left_by_a_jump(void **state)
{
	uint64_t left = 0, next[5] = { 0 };
	long before, after;

	(void)state;
	if (!setjmp(target))
		cpa_block_slow(&left, 4096, jump_out);
	before = sleeps();
	assert_true(cpa_block_slow(&next[0], 4096, cpa_block_alloc) != 0);
	after = sleeps();
	assert_true(after - before > 100);
	for (int i = 1; i < 5; i++)
		assert_true(cpa_block_slow(&next[i], 4096, cpa_block_alloc) != 0);
	assert_true(sleeps() - after < 1000);
	assert_true(cpa_block_slow(&left, 4096, cpa_block_alloc) != 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_many_keys, setup, teardown),
		cmocka_unit_test_setup_teardown(test_shared_lines, setup, teardown),
		cmocka_unit_test_setup_teardown(test_similar_keys, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_found, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_growth_left_by_a_jump, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup_small, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
