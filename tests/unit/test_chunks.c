/* SPDX-License-Identifier: MIT */
/* tests/unit/test_chunks.c - chunks of a loop go to the thread that is free first */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/exact/chunks.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Two threads; the second has five ticks besides its chunks. */
static struct cpa_stint stint[] = { { .work = 30 }, { .work = 15 } };
static struct cpa_stints stints = { .stints = 2, .stint = stint };
static const struct cpa_stint *const both[] = { &stint[0], &stint[1] };

static void test_static_becomes_dynamic(void **state)
{
	static const struct cpa_chunk chunk[] = {
		{ .work = 10, .stint = 0 }, { .work = 2, .stint = 1 },	{ .work = 10, .stint = 0 },
		{ .work = 3, .stint = 1 },  { .work = 10, .stint = 0 }, { .work = 5, .stint = 1 },
	};
	double work[2];

	(void)state;
	/* 0 takes 10, 1 takes 2 and 10, 0 takes 3, 0 takes 10, 1 takes 5. */
	cpa_chunks_deal(&stints, both, 2, chunk, COUNT(chunk), work);
	assert_true(work[0] == 10 + 3 + 10);
	assert_true(work[1] == 5 + 2 + 10 + 5);
}

/* On other numbers of threads: each has its share of what is around the chunks. */
static void test_other_threads(void **state)
{
	static struct cpa_chunk chunk[] = {
		{ .work = 8 }, { .work = 1 }, { .work = 1 },
		{ .work = 1 }, { .work = 5 }, { .work = 4 },
	};

	(void)state;
	assert_true(cpa_chunks_ticks(chunk, COUNT(chunk), 12, 1) == 12 + 20);
	/* 8, and 1, 1, 1, 5; then 8, 4. */
	assert_true(cpa_chunks_ticks(chunk, COUNT(chunk), 12, 2) == 6 + 12);
	/* 8; 1, 1, 4; 1, 5. */
	assert_true(cpa_chunks_ticks(chunk, COUNT(chunk), 12, 3) == 4 + 8);
	assert_true(cpa_chunks_ticks(chunk, COUNT(chunk), 12, 12) == 1 + 8);
	for (size_t i = 0; i < COUNT(chunk); i++)
		chunk[i].turn = true;
	/* 8, 1, 5; and 1, 1, 4. */
	assert_true(cpa_chunks_ticks(chunk, COUNT(chunk), 12, 2) == 6 + 14);
}

static void test_shares(void **state)
{
	static const struct cpa_chunk chunk[] = { { .stint = 0 }, { .stint = 1 }, { .stint = 0 } };

	(void)state;
	assert_true(cpa_chunks_are_shares(chunk, 2));
	assert_false(cpa_chunks_are_shares(chunk, 3));
}

/* A thread takes no chunk before it began: the first takes two until then, and what is left in turns. */
static void test_late(void **state)
{
	static struct cpa_stint one[] = { { .work = 20, .begun = 100 },
					  { .work = 25, .begun = 115 } };
	static struct cpa_stints all = { .stints = 2, .stint = one };
	static const struct cpa_stint *const round[] = { &one[0], &one[1] };
	static const struct cpa_chunk chunk[] = {
		{ .work = 10, .stint = 0 },
		{ .work = 10, .stint = 1 },
		{ .work = 10, .stint = 0 },
		{ .work = 10, .stint = 1 },
	};
	double work[2];

	(void)state;
	/* The second has five ticks besides its chunks: it is free at 20, as the first then is. */
	cpa_chunks_deal(&all, round, 2, chunk, COUNT(chunk), work);
	assert_true(work[0] == 30 && work[1] == 15);
	one[1].begun = 200;
	cpa_chunks_deal(&all, round, 2, chunk, COUNT(chunk), work);
	assert_true(work[0] == 40 && work[1] == 5);
	one[0].begun = 300;
	cpa_chunks_deal(&all, round, 2, chunk, COUNT(chunk), work);
	assert_true(work[0] == 0 && work[1] == 45);
	/* But for 85 of the 100 ticks it had no processor. */
	one[0].unready = 85;
	cpa_chunks_deal(&all, round, 2, chunk, COUNT(chunk), work);
	assert_true(work[0] == 20 && work[1] == 25);
	/* And the other one for longer than it was late. */
	one[1].begun = 310;
	one[1].unready = 1000;
	one[0].unready = 0;
	cpa_chunks_deal(&all, round, 2, chunk, COUNT(chunk), work);
	assert_true(work[0] == 20 && work[1] == 25);
}

static void test_none(void **state)
{
	double work[2];

	(void)state;
	cpa_chunks_deal(&stints, both, 2, NULL, 0, work);
	assert_true(work[0] == 30 && work[1] == 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_static_becomes_dynamic),
		cmocka_unit_test(test_other_threads),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
