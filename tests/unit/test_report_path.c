/* SPDX-License-Identifier: MIT */
/* tests/unit/test_report_path.c - expanded paths of the file, and the join of two */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/input/path.h"
#include "tests/unit/dump_maker.h"

#define SLOTS 4
#define RUNS  10000

static struct cpa_dump dump;

static uint64_t observed_version; /* also set by make_version() */

/* A file with versions of 3 slots: S = 10 11 12, H = 20 21 22; O = 30 31 32. */
static uint64_t make_version(uint32_t slots)
{
	const uint64_t version[] = { UINT64_C(3) << 32 | 1, 0, 12, 10, 11, 12, 20, 21, 22 };
	const uint64_t observed[] = { UINT64_C(3) << 32 | 1, 0, 0, 30, 31, 32 };
	struct dump_maker maker;
	uint64_t offset;
	char *error;

	dump_maker_start(&maker);
	offset = dump_maker_block(&maker, version, sizeof(version));
	((struct cpa_version *)(maker.bytes + offset))->slots = slots;
	observed_version = dump_maker_block(&maker, observed, sizeof(observed));
	dump_maker_save(&maker, maker_file, SIZE_MAX);
	dump_maker_free(&maker);
	assert_int_equal(cpa_dump_open(&dump, maker_file, &error), 0);
	return offset;
}

static struct cpa_delta delta(uint32_t slot, int32_t ticks)
{
	return (struct cpa_delta){ slot, ticks, ticks, ticks };
}

static void test_version_and_deltas_add_up(void **state)
{
	const uint64_t slack[] = { 10, 111, 12, 5 }, share[] = { 20, 121, 22, 5 };
	const uint64_t observed[] = { 30, 131, 32, 5 };
	struct cpa_path path = { .len = 500,
				 .released = 77,
				 .version = make_version(3),
				 .observed = { 1, 2, 3, 4, 5 },
				 .delta = { delta(1, 99), delta(3, 5), delta(1, 1) } };
	struct cpa_vector vector;

	(void)state;
	path.observed_version = observed_version;
	cpa_vector_init(&vector, SLOTS);
	assert_true(cpa_vector_read(&vector, &dump, &path));
	assert_int_equal(vector.len, 500);
	assert_int_equal(vector.released, 77);
	assert_memory_equal(vector.kind, path.observed, sizeof(vector.kind));
	assert_memory_equal(vector.slack, slack, sizeof(slack));
	assert_memory_equal(vector.share, share, sizeof(share));
	assert_memory_equal(vector.observed, observed, sizeof(observed));
	cpa_vector_fini(&vector);
	cpa_dump_close(&dump);
}

/* Torn values never exceed the length of the path. */
static void test_values_are_at_most_the_length(void **state)
{
	struct cpa_path path = { .len = 15, .version = make_version(3) };
	struct cpa_vector vector;

	(void)state;
	cpa_vector_init(&vector, SLOTS);
	assert_true(cpa_vector_read(&vector, &dump, &path));
	assert_int_equal(vector.slack[2], 12);
	assert_int_equal(vector.share[2], 15);
	cpa_vector_fini(&vector);
	cpa_dump_close(&dump);
}

static void test_broken_paths(void **state)
{
	struct cpa_path path = { .len = 500, .version = make_version(SLOTS + 1) };
	struct cpa_vector vector;

	(void)state;
	cpa_vector_init(&vector, SLOTS);
	assert_false(cpa_vector_read(&vector, &dump, &path)); /* more slots than there are */
	path.version = dump.size - 8;
	assert_false(cpa_vector_read(&vector, &dump, &path)); /* cut off */
	path.version = 8;
	assert_false(cpa_vector_read(&vector, &dump, &path)); /* inside the header */
	path.version = UINT64_MAX;
	assert_false(cpa_vector_read(&vector, &dump, &path));
	path.version = 0;
	path.observed_version = dump.size - 8;
	assert_false(cpa_vector_read(&vector, &dump, &path));
	path.observed_version = 0;
	path.delta[0] = delta(SLOTS, 1);
	assert_false(cpa_vector_read(&vector, &dump, &path)); /* no such slot */
	path.delta[0].slot = 0;
	assert_true(cpa_vector_read(&vector, &dump, &path));
	cpa_vector_fini(&vector);
	cpa_dump_close(&dump);
}

static void fill(struct cpa_vector *vector, uint64_t len, uint64_t s0, uint64_t h0, uint64_t s1,
		 uint64_t h1)
{
	cpa_vector_init(vector, 2);
	vector->len = len;
	vector->slack[0] = s0;
	vector->share[0] = h0;
	vector->slack[1] = s1;
	vector->share[1] = h1;
}

static void test_the_longer_path_wins(void **state)
{
	struct cpa_vector local, remote;

	(void)state;
	fill(&local, 60, 10, 10, 0, 0);
	fill(&remote, 100, 70, 70, 30, 30);
	cpa_vector_join(&local, &remote);
	assert_int_equal(local.len, 100);
	assert_int_equal(local.share[0], 70);
	assert_int_equal(local.share[1], 30);
	/* Without 0 the local path has 50 left: 50 is all that zeroing saves. */
	assert_int_equal(local.slack[0], 50);
	/* Without 1 the local path keeps its 60, the remote 70. */
	assert_int_equal(local.slack[1], 30);
	cpa_vector_fini(&local);
	cpa_vector_fini(&remote);
}

static void test_the_local_path_wins_a_tie(void **state)
{
	struct cpa_vector local, remote;

	(void)state;
	fill(&local, 50, 10, 20, 5, 6);
	fill(&remote, 50, 30, 40, 1, 2);
	cpa_vector_join(&local, &remote);
	assert_int_equal(local.len, 50);
	assert_int_equal(local.share[0], 20);
	assert_int_equal(local.share[1], 6);
	assert_int_equal(local.slack[0], 10);
	assert_int_equal(local.slack[1], 1);
	cpa_vector_fini(&local);
	cpa_vector_fini(&remote);
}

/* L - S[c] is the length of the longest path without c: a join takes the longer of the two. */
static void test_join_is_max_of_zeroed_lengths(void **state)
{
	struct cpa_vector local, remote;

	(void)state;
	srand(1);
	for (int run = 0; run < RUNS; run++) {
		uint64_t without[2], length;

		fill(&local, (uint64_t)rand() % 100, 0, 0, 0, 0);
		fill(&remote, (uint64_t)rand() % 100, 0, 0, 0, 0);
		for (int c = 0; c < 2; c++) {
			uint64_t a, b;

			local.slack[c] = (uint64_t)rand() % (local.len + 1);
			remote.slack[c] = (uint64_t)rand() % (remote.len + 1);
			a = local.len - local.slack[c];
			b = remote.len - remote.slack[c];
			without[c] = a > b ? a : b;
		}
		length = local.len > remote.len ? local.len : remote.len;
		cpa_vector_join(&local, &remote);
		assert_int_equal(local.len, length);
		assert_int_equal(local.len - local.slack[0], without[0]);
		assert_int_equal(local.len - local.slack[1], without[1]);
		cpa_vector_fini(&local);
		cpa_vector_fini(&remote);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_version_and_deltas_add_up),
		cmocka_unit_test(test_values_are_at_most_the_length),
		cmocka_unit_test(test_broken_paths),
		cmocka_unit_test(test_the_longer_path_wins),
		cmocka_unit_test(test_the_local_path_wins_a_tie),
		cmocka_unit_test(test_join_is_max_of_zeroed_lengths),
	};

	return cmocka_run_group_tests(tests, dump_maker_file, dump_maker_unlink);
}
