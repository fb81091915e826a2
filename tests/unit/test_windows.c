/* SPDX-License-Identifier: MIT */
/* tests/unit/test_windows.c - sums over the parts of a run, against a list of the parts */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "shadow/edge/windows.h"
#include "tests/unit/shadow_session.h"

#define SLOTS 20u /* no multiple of a block */
#define PARTS 200u

static struct cpa_self self;
static struct cpa_path path;

static int begin(void **state)
{
	(void)state;
	memset(&self, 0, sizeof(self));
	memset(&path, 0, sizeof(path));
	return test_session(UINT64_C(1) << 26, SLOTS);
}

static int end(void **state)
{
	(void)state;
	cpa_path_clear(&self, &path);
	cpa_session_destroy();
	return 0;
}

static const struct cpa_window_sums *sums(void)
{
	return cpa_at(cpa_header()->windows);
}

static double real(unsigned array, uint32_t slot)
{
	double value;

	memcpy(&value, &sums()->value[array * cpa_windows_slots(SLOTS) + slot], sizeof(value));
	return value;
}

static void test_sums(void **state)
{
	static uint64_t added[PARTS][SLOTS], len[PARTS];
	const char *given = getenv("CPA_SEED");
	long seed = given ? atol(given) : (long)((uintptr_t)&seed >> 4 & 0xffffff);

	(void)state;
	print_message("seed %ld\n", seed);
	srand48(seed);
	for (unsigned part = 0; part < PARTS; part++) {
		for (int i = lrand48() % 60; i >= 0; i--) {
			uint32_t slot = CPA_SLOT_FIRST + lrand48() % (SLOTS - CPA_SLOT_FIRST);
			uint64_t ticks = lrand48() % 100000;

			cpa_path_add(&self, &path, slot, ticks);
			path.len += ticks;
			added[part][slot] += ticks;
			len[part] += ticks;
		}
		cpa_windows_note(&path, 2 * part + 3);
		cpa_windows_note(&path, 2 * part + 3); /* a second thread of the part */
	}
	assert_int_equal(sums()->count, PARTS);
	assert_int_equal(sums()->len, path.len);
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		double square = 0, product = 0, square_len = 0;

		for (unsigned part = 0; part < PARTS; part++) {
			square += (double)added[part][slot] * (double)added[part][slot];
			product += (double)added[part][slot] * (double)len[part];
			square_len += (double)len[part] * (double)len[part];
		}
		assert_true(sums()->square == square_len);
		for (unsigned v = CPA_WINDOW_H; v <= CPA_WINDOW_S; v += CPA_WINDOW_S) {
			assert_true(real(v + 1, slot) == square);
			assert_true(real(v + 2, slot) == product);
		}
	}
}

/* A part that began while another thread noted, or before anything ran, is no value of its own. */
static void test_skipped(void **state)
{
	(void)state;
	cpa_windows_note(&path, 3);
	assert_int_equal(sums()->count, 0);
	path.len = 5;
	((struct cpa_window_sums *)cpa_at(cpa_header()->windows))->busy = 1;
	cpa_windows_note(&path, 5);
	assert_int_equal(sums()->count, 0);
	((struct cpa_window_sums *)cpa_at(cpa_header()->windows))->busy = 0;
	path.len = 7;
	cpa_windows_note(&path, 7);
	cpa_windows_note(&path, 5);
	assert_int_equal(sums()->count, 1);
	assert_true(sums()->square == 49);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sums, begin, end),
		cmocka_unit_test_setup_teardown(test_skipped, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
