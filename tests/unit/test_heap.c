/* SPDX-License-Identifier: MIT */
/* tests/unit/test_heap.c - shadow/store/heap.h: freed blocks are used again */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/shadow_session.h"

#define BLOCKS 600
#define ROUNDS 50
#define SLOTS  512u
#define LIMIT  (UINT64_C(1) << 28)

static int setup(void **state)
{
	(void)state;
	return test_session(LIMIT, SLOTS);
}

static uint64_t used(void)
{
	return __atomic_load_n(&cpa_header()->used, __ATOMIC_RELAXED); /* there is one thread */
}

/*
 * Like versions, which come and go. Nothing returns to the session, which thus has the maximum in
 * use.
 */
static void rounds(size_t size)
{
	static void *block[BLOCKS];
	uint64_t before = 0;

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < BLOCKS; i++) {
			block[i] = cpa_heap_alloc(size);
			assert_non_null(block[i]);
		}
		if (round == 0)
			before = used();
		for (int i = 0; i < BLOCKS; i++)
			cpa_heap_free(block[i]);
	}
	assert_int_equal(used(), before);
	assert_int_equal(cpa_heap_live(), 0);
}

static void test_small(void **state)
{
	(void)state;
	rounds(200);
}

static void test_medium(void **state)
{
	(void)state;
	rounds(10000);
}

static void test_large(void **state)
{
	(void)state;
	rounds(25000);
}

/* Memory is zeroed, also when it was used before. */
static void test_zeroed(void **state)
{
	(void)state;
	for (int round = 0; round < 100; round++) {
		unsigned char *block = cpa_heap_alloc(5000);

		assert_non_null(block);
		for (int i = 0; i < 5000; i++)
			assert_int_equal(block[i], 0);
		memset(block, 0xa5, 5000);
		cpa_heap_free(block);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_small, setup),
		cmocka_unit_test_setup(test_medium, setup),
		cmocka_unit_test_setup(test_large, setup),
		cmocka_unit_test_setup(test_zeroed, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
