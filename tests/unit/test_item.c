/* SPDX-License-Identifier: MIT */
/* tests/unit/test_item.c - shadow/edge/item.h: the item that a take gets, refusals, memory */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shadow/edge/item.h"

#include "tests/unit/shadow_threads.h"

static enum cpa_item_put put(struct cpa_self *self, uint32_t queue, uint64_t item)
{
	return cpa_item_put(self, queue, item, &self->row->path);
}

/* Return the length of the path that came with the item; 0: none. */
static uint64_t take(uint32_t queue, uint64_t item)
{
	uint32_t token = cpa_item_take(&t[0], queue, item);
	uint64_t len = token ? cpa_token(token)->path.len : 0;

	if (token)
		cpa_token_free(&t[0], token);
	return len;
}

static uint64_t take_back(int i, uint32_t queue, uint64_t item)
{
	uint32_t token = cpa_item_take_back(&t[i], queue, item);
	uint64_t len = token ? cpa_token(token)->path.len : 0;

	if (token)
		cpa_token_free(&t[i], token);
	return len;
}

static uint64_t refused(void)
{
	return cpa_header()->diag[CPA_DIAG_ITEMS_REFUSED];
}

/* An item belongs to one queue; 0 and all bits set are items too. */
static void test_queue_and_item(void **state)
{
	static const uint64_t item[] = { 0, 1, UINT64_MAX, UINT64_C(1) << 63, 0x7fff12345678 };

	(void)state;
	for (uint32_t q = 1; q <= 3; q++)
		for (unsigned i = 0; i < 5; i++)
			assert_int_equal(put(at(1, 10, q * 10 + i), q, item[i]), CPA_ITEM_NEW);
	assert_int_equal(cpa_header()->items, 15);
	assert_int_equal(take(4, item[1]), 0);
	assert_int_equal(take(1, 2), 0);
	for (unsigned i = 5; i-- > 0;)
		for (uint32_t q = 1; q <= 3; q++) {
			assert_int_equal(take(q, item[i]), q * 10 + i);
			assert_int_equal(take(q, item[i]), 0);
		}
	assert_int_equal(cpa_header()->items, 0);
}

/* Of equal items the one released first comes first, in whatever order they were put. */
static void test_oldest_first(void **state)
{
	static const uint64_t clock[] = { 50, 20, 40, 10, 30 };

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(put(at(1, clock[i], clock[i]), 1, 7),
				 i ? CPA_ITEM_TWICE : CPA_ITEM_NEW);
	for (uint64_t want = 10; want <= 50; want += 10)
		assert_int_equal(take(1, 7), want);
	assert_int_equal(take(1, 7), 0);
}

/* Taking back gets the thread's own latest item, not those that others put before or since. */
static void test_take_back(void **state)
{
	(void)state;
	put(at(1, 10, 1), 1, 7);
	put(at(2, 20, 2), 1, 7);
	put(at(1, 30, 3), 1, 7);
	put(at(2, 40, 4), 1, 7);
	assert_int_equal(take_back(3, 1, 7), 0);
	assert_int_equal(take_back(1, 1, 7), 3);
	assert_int_equal(take_back(1, 1, 7), 1);
	assert_int_equal(take_back(1, 1, 7), 0);
	assert_int_equal(take(1, 7), 2);
	assert_int_equal(take(1, 7), 4);
}

/* Many items at once, taken in another order; then the space is used again. */
static void test_many(void **state)
{
	enum { MANY = 20000 };
	uint64_t used = 0;

	(void)state;
	for (int round = 0; round < 4; round++) {
		for (uint64_t i = 0; i < MANY; i++)
			assert_int_equal(put(at(1, i, i + 1), 1, 0x10000 + 48 * i), CPA_ITEM_NEW);
		assert_int_equal(cpa_header()->items, MANY);
		for (uint64_t i = 0; i < MANY; i++) {
			uint64_t k = i * 7919 % MANY;

			assert_int_equal(take(1, 0x10000 + 48 * k), k + 1);
		}
		assert_int_equal(cpa_header()->items, 0);
		if (!round)
			used = cpa_header()->used;
	}
	assert_int_equal(cpa_header()->used, used);
	assert_int_equal(refused(), 0);
}

/* Equal items share their lines: beyond a bound they are refused and the index does not grow. */
static void test_equal_items_are_bounded(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		put(at(1, i, i + 1), 1, 7);
	assert_int_equal(cpa_header()->items, CPA_ITEMS_EQUAL);
	assert_int_equal(refused(), 1000 - CPA_ITEMS_EQUAL);
	assert_int_equal(cpa_header()->item_index[CPA_INDEX_LEVELS - 1], 0);
	assert_int_equal(put(at(1, 1, 5000), 1, 8), CPA_ITEM_NEW);
	for (uint64_t i = 0; i < CPA_ITEMS_EQUAL; i++)
		assert_int_equal(take(1, 7), i + 1);
	assert_int_equal(take(1, 7), 0);
	assert_int_equal(take(1, 8), 5000);
}

/* The limit on all items; refused items leave nothing behind. */
static void test_items_are_bounded(void **state)
{
	(void)state;
	cpa_header()->items = CPA_ITEMS_MAX - 1;
	assert_int_equal(put(at(1, 1, 1), 1, 1), CPA_ITEM_NEW);
	assert_int_equal(put(at(1, 2, 2), 1, 2), CPA_ITEM_REFUSED);
	assert_int_equal(refused(), 1);
	assert_int_equal(cpa_header()->items, CPA_ITEMS_MAX);
	assert_int_equal(take(1, 1), 1);
	assert_int_equal(take(1, 2), 0);
	assert_int_equal(put(at(1, 3, 3), 1, 2), CPA_ITEM_NEW);
	assert_int_equal(take(1, 2), 3);
}

/* Without session memory items are refused; those already put arrive. */
static void test_no_space(void **state)
{
	uint64_t n = 0;

	(void)state;
	while (put(at(1, 1, n + 1), 1, 64 * n) != CPA_ITEM_REFUSED)
		n++;
	assert_true(n > 1000);
	assert_int_equal(cpa_header()->items, n);
	assert_int_equal(refused(), 1);
	for (uint64_t i = 0; i < n; i++)
		assert_int_equal(take(1, 64 * i), i + 1);
	assert_int_equal(cpa_header()->items, 0);
}

static int setup_small(void **state)
{
	int ret;

	(void)state;
	ret = test_session(UINT64_C(4) << 20, 16);
	memset(t, 0, sizeof(t));
	for (uint32_t i = 0; i < THREADS && !ret; i++) {
		struct cpa_wait w = { .now = 1 };

		ret = cpa_thread_begin(&t[i], 0, i, NULL, &w);
	}
	return ret;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_queue_and_item, threads_setup,
						threads_teardown),
		cmocka_unit_test_setup_teardown(test_oldest_first, threads_setup, threads_teardown),
		cmocka_unit_test_setup_teardown(test_take_back, threads_setup, threads_teardown),
		cmocka_unit_test_setup_teardown(test_many, threads_setup, threads_teardown),
		cmocka_unit_test_setup_teardown(test_equal_items_are_bounded, threads_setup,
						threads_teardown),
		cmocka_unit_test_setup_teardown(test_items_are_bounded, threads_setup,
						threads_teardown),
		cmocka_unit_test_setup_teardown(test_no_space, setup_small, threads_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
