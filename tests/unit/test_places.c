/* SPDX-License-Identifier: MIT */
/* tests/unit/test_places.c - preload/code/places.h: what is remembered of one frame is not taken for another */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/shadow_session.h"

/* NOLINTNEXTLINE(bugprone-suspicious-include): without the tables of real modules. */
#include "preload/code/places.c"

#define PAGE	 UINT64_C(0x7f0000003000)
#define FUNCTION UINT64_C(0x7f0000002fc0)
#define OURS	 UINT64_C(0x7f0000009000)

static unsigned finds;

bool cpa_function_is_ours(uint64_t pc)
{
	finds++;
	return pc == OURS;
}

/* Rows, as numbers that tell what they are of. */
uint32_t cpa_function_site(uint64_t address)
{
	return (uint32_t)(address & 0xffff);
}

uint32_t cpa_call_site(uint64_t address, uint32_t function)
{
	return (uint32_t)(address & 0xffff) << 16 | function;
}

static int setup(void **state)
{
	(void)state;
	return test_session(UINT64_C(16) << 20, 64);
}

static int teardown(void **state)
{
	(void)state;
	cpa_session_destroy();
	return 0;
}

static void check(struct cpa_places *places, const struct cpa_walk_frame *frame, uint32_t site,
		  uint32_t function)
{
	const struct cpa_place *place = cpa_place_of(places, frame);

	assert_int_equal(place->site, site);
	assert_int_equal(place->function, function);
}

static void test_remembers(void **state)
{
	struct cpa_places places = { 0 };
	const struct cpa_walk_frame frame = { .function = FUNCTION, .call = FUNCTION + 9 };

	(void)state;
	finds = 0;
	for (int i = 0; i < 3; i++)
		check(&places, &frame, UINT32_C(0x2fc92fc0), 0x2fc0);
	assert_int_equal(finds, 1);
	check(&places, &(struct cpa_walk_frame){ .function = OURS }, 0, 0);
}

/*
 * The last byte of a call begins a page. Code in that page that no table covers is taken for a function that
 * begins there.
 */
static void test_call_that_begins_a_page(void **state)
{
	static const struct cpa_walk_frame call = { .function = FUNCTION, .call = PAGE };
	static const struct cpa_walk_frame uncovered = { .function = PAGE };
	struct cpa_places places = { 0 }, other = { 0 };

	(void)state;
	check(&places, &call, UINT32_C(0x30002fc0), 0x2fc0);
	check(&places, &uncovered, 0x3000, 0x3000);
	check(&places, &call, UINT32_C(0x30002fc0), 0x2fc0);
	check(&other, &uncovered, 0x3000, 0x3000);
	check(&other, &call, UINT32_C(0x30002fc0), 0x2fc0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_remembers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_call_that_begins_a_page, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
