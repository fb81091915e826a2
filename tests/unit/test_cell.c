/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_cell.c - shadow/edge/cell.h: the join of all releases, and the life of its tokens
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shadow/edge/cell.h"
#include "shadow/edge/object.h"

#include "tests/unit/shadow_threads.h"

static uint64_t cell;

static int setup(void **state)
{
	cell = 0;
	return threads_setup(state);
}

static int teardown(void **state)
{
	cpa_cell_clear(&t[0], &cell);
	return cell ? -1 : threads_teardown(state);
}

static void release(int i, uint64_t now, uint64_t len)
{
	struct cpa_self *self = at(i, now, len);

	cpa_cell_release(self, &cell, &self->row->path);
}

/* No release: no edge. */
static void test_empty(void **state)
{
	struct cpa_wait w = { .arrived = 10, .now = 20 };

	(void)state;
	cpa_cell_acquired(&t[0], &cell, &w);
	assert_false(w.matched || w.followed);
	assert_int_equal(w.from, 0);
	assert_int_equal(cell, 0);
	cpa_cell_clear(&t[0], &cell);
}

/* A read depends on all releases so far: the longest, and the latest; any number may read. */
static void test_all_releases(void **state)
{
	(void)state;
	release(1, 10, 50);
	release(2, 20, 30);
	release(3, 15, 40);
	for (int i = 4; i < 6; i++) {
		struct cpa_wait w = { .arrived = 12, .now = 30 };

		cpa_cell_acquired(&t[i], &cell, &w);
		assert_true(w.matched && w.followed);
		assert_int_equal(t[i].row->path.len, 50);
		assert_int_equal(from(&w), 2);
		assert_int_equal(t[i].row->path.observed[CPA_TIME_HANDOFF], 10);
	}
	assert_int_equal(cell >> 32, 0);
}

/* Slack: a component of only one of the releases. */
static void test_slack(void **state)
{
	struct cpa_wait w = { .arrived = 50, .now = 50 };

	(void)state;
	cpa_path_add(&t[1], &t[1].row->path, 2, 30);
	cpa_path_add(&t[2], &t[2].row->path, 3, 50);
	release(1, 10, 30);
	release(2, 20, 50);
	cpa_cell_acquired(&t[3], &cell, &w);
	assert_int_equal(cpa_path_value(&t[3].row->path, CPA_S, 3), 20);
	assert_int_equal(cpa_path_value(&t[3].row->path, CPA_S, 2), 0);
	assert_int_equal(cpa_path_value(&t[3].row->path, CPA_H, 3), 50);
}

/* Round after round: one token, and one for the next release. */
static void test_bounded(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= 10000; i++) {
		struct cpa_wait w = { .arrived = i, .now = i };

		cpa_path_add(&t[1], &t[1].row->path, 2 + i % 40, 1);
		release(1, i, i);
		cpa_cell_acquired(&t[2], &cell, &w);
		assert_int_equal(t[2].row->path.len, i);
	}
	assert_true(cpa_table(CPA_TABLE_TOKENS)->used <= 4);
}

/* An annotated object is cleared like any other. */
static void test_object_clear(void **state)
{
	struct cpa_object *o = cpa_row(CPA_TABLE_OBJECTS, cpa_table_append(CPA_TABLE_OBJECTS));
	struct cpa_wait w = { .arrived = 20, .now = 20 };

	(void)state;
	cpa_cell_release(at(1, 10, 5), &o->merged, &t[1].row->path);
	cpa_object_clear(&t[0], o);
	cpa_cell_acquired(&t[2], &o->merged, &w);
	assert_false(w.matched);
}

/* The object is cleared while a thread reads: the last reader frees the token, once. */
static void test_clear_under_a_pin(void **state)
{
	uint32_t row, other;

	(void)state;
	release(1, 10, 5);
	row = (uint32_t)cell;
	cell += UINT64_C(1) << 32; /* a reader stopped on the way */
	cpa_cell_clear(&t[0], &cell);
	assert_int_equal(cell, 0);
	assert_int_equal(cpa_token(row)->left, 1);
	assert_int_equal(cpa_token(row)->path.len, 5);
	other = cpa_token_new(&t[0], NULL);
	assert_int_not_equal(other, row);
	cpa_token_free(&t[0], other);
	/* For teardown: the reader that never returned. */
	cpa_token_free(&t[0], row);
}

/* A put replaces what is there, and is read by its number alone. */
static void test_numbers(void **state)
{
	(void)state;
	for (uint64_t key = 1; key < 100; key++) {
		struct cpa_wait w = { .arrived = key * 100, .now = key * 100 + 50 }, late = w;

		cpa_cell_put(at(1, key * 100 + 20, 1000 - key), &cell, key, &t[1].row->path);
		at(2, key * 100, 5);
		assert_false(cpa_cell_acquired_if(&t[2], &cell, key - 1, &late));
		assert_false(late.matched || late.followed);
		assert_int_equal(t[2].row->path.len, 5);
		assert_true(cpa_cell_acquired_if(&t[2], &cell, key, &w));
		assert_true(w.matched && w.followed);
		assert_int_equal(t[2].row->path.len, 1000 - key);
	}
	assert_true(cpa_table(CPA_TABLE_TOKENS)->used < 5);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_numbers),	      TEST(test_empty),
		TEST(test_all_releases),      TEST(test_slack),
		TEST(test_bounded),	      TEST(test_object_clear),
		TEST(test_clear_under_a_pin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
