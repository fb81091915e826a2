/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_path.c - shadow/path/path.h: the examples of the papers, and limits of the
 * algebra
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/shadow_session.h"

#define LIMIT (UINT64_C(64) << 20)

static struct cpa_self self;

static int setup(void **state)
{
	(void)state;
	memset(&self, 0, sizeof(self));
	return test_session(LIMIT, 256);
}

static int setup_small(void **state)
{
	(void)state;
	memset(&self, 0, sizeof(self));
	return test_session(UINT64_C(2) << 20, 256);
}

static int teardown(void **state)
{
	(void)state;
	cpa_session_destroy();
	return 0;
}

/* Spend @ticks in procedure @slot. */
static void work(struct cpa_path *path, uint32_t slot, uint64_t ticks)
{
	path->len += ticks;
	cpa_path_add(&self, path, slot, ticks);
}

/* @to receives the message @from: a dependency without weight. */
static void message(struct cpa_path *to, const struct cpa_path *from)
{
	cpa_path_join(&self, to, from, false);
}

#define S(path, slot) cpa_path_value(path, CPA_S, slot)
#define H(path, slot) cpa_path_value(path, CPA_H, slot)
#define O(path, slot) cpa_path_value(path, CPA_O, slot)

static void clear_all(struct cpa_path path[], unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		cpa_path_clear(&self, &path[i]);
	cpa_version_forget_spares(&self);
	assert_int_equal(cpa_heap_live(), 0);
}

/*
 * Online CP, Fig. 1: three processes exchange messages; the critical path is 16 long and lies
 * entirely in the rightmost process, though others communicate with it. The text gives no weights;
 * these are chosen here.
 */
static void test_online_cp_figure_1(void **state)
{
	enum { A = 2, B, C };
	struct cpa_path p[3] = { { 0 } }, sent = { 0 }, result = { 0 };

	(void)state;
	work(&p[2], A, 5);
	work(&p[0], B, 2);
	cpa_path_copy(&self, &sent, &p[0]);
	work(&p[1], C, 1);
	message(&p[1], &sent);
	work(&p[1], A, 4);
	cpa_path_copy(&self, &sent, &p[1]);
	work(&p[2], B, 3);
	message(&p[2], &sent); /* 6 against 8: no wait */
	cpa_path_copy(&self, &sent, &p[2]);
	work(&p[0], A, 3);
	message(&p[0], &sent); /* 5 against 8: the left one waits */
	work(&p[0], B, 4);
	work(&p[1], B, 7);
	work(&p[2], C, 8);
	assert_int_equal(p[0].len, 12);
	assert_int_equal(p[1].len, 13);
	for (int i = 0; i < 3; i++)
		message(&result, &p[i]);

	assert_int_equal(result.len, 16);
	/* The profile is that of the rightmost process alone. */
	assert_int_equal(H(&result, A), 5);
	assert_int_equal(H(&result, B), 3);
	assert_int_equal(H(&result, C), 8);
	/* Zeroing: without C 13 remain (the middle one), without A 11, without B 13. */
	assert_int_equal(S(&result, C), 16 - 13);
	assert_int_equal(S(&result, A), 16 - 11);
	assert_int_equal(S(&result, B), 16 - 13);
	cpa_path_clear(&self, &sent);
	cpa_path_clear(&self, &result);
	clear_all(p, 3);
}

/*
 * IPS-2, Fig. 8: the path is 2.85 s, and zeroing the procedure with the largest share leaves 1.20,
 * where another procedure of another process is the largest. The gain is less than the share.
 */
static void test_ips2_zeroing(void **state)
{
	enum { CALC2 = 2, GETDATA, OTHER };
	struct cpa_path a = { 0 }, b = { 0 };

	(void)state;
	work(&a, OTHER, 35);
	work(&a, CALC2, 250);
	work(&b, GETDATA, 90);
	work(&b, OTHER, 30);
	message(&a, &b);

	assert_int_equal(a.len, 285);
	assert_int_equal(H(&a, CALC2), 250);
	assert_int_equal(a.len - S(&a, CALC2), 120);
	assert_true(S(&a, CALC2) < H(&a, CALC2));
	/* A procedure that is only on the other path saves nothing. */
	assert_int_equal(S(&a, GETDATA), 0);
	assert_int_equal(H(&a, GETDATA), 0);
	assert_int_equal(S(&a, OTHER), 35);
	cpa_path_clear(&self, &b);
	clear_all(&a, 1);
}

/* More slots than a path has deltas: a version takes them, no tick is lost. */
static void test_add_beyond_deltas(void **state)
{
	struct cpa_path p = { 0 };

	(void)state;
	for (uint32_t round = 0; round < 3; round++)
		for (uint32_t slot = 1; slot < 100; slot++)
			work(&p, slot, slot + round);
	assert_true(p.version != 0);
	for (uint32_t slot = 1; slot < 100; slot++) {
		assert_int_equal(S(&p, slot), 3 * slot + 3);
		assert_int_equal(H(&p, slot), 3 * slot + 3);
		assert_int_equal(O(&p, slot), 3 * slot + 3);
	}
	assert_int_equal(S(&p, 0), 0);
	assert_int_equal(S(&p, 100), 0);
	assert_int_equal(S(&p, 4000), 0);
	clear_all(&p, 1);
}

/* Deltas have no gaps and one entry per slot: readers of the path rely on it. */
static void test_deltas_are_packed(void **state)
{
	struct cpa_path p = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		work(&p, 1 + i * 7 % 40, i % 3);
		for (unsigned k = 0; k < CPA_PATH_DELTAS && p.delta[k].slot; k++)
			for (unsigned b = 0; b < k; b++)
				assert_true(p.delta[k].slot != p.delta[b].slot);
	}
	clear_all(&p, 1);
}

/* A delta holds 31 bits; larger sums and single additions stay exact. */
static void test_delta_overflow(void **state)
{
	struct cpa_path p = { 0 };
	const uint64_t most = (UINT64_C(1) << 30) - 1;

	(void)state;
	work(&p, 2, most);
	assert_int_equal(p.version, 0);
	work(&p, 2, most);
	work(&p, 2, 1);
	assert_int_equal(S(&p, 2), 2 * most + 1);
	assert_int_equal(S(&p, 3), 0);
	work(&p, 3, (UINT64_C(1) << 60) + 5);
	assert_int_equal(H(&p, 3), (UINT64_C(1) << 60) + 5);
	assert_int_equal(O(&p, 2), 2 * most + 1);
	assert_int_equal(p.len, 2 * most + 6 + (UINT64_C(1) << 60));
	clear_all(&p, 1);
}

/* A copy names the same version, and does not change with the original. */
static void test_copy_shares_the_version(void **state)
{
	struct cpa_path p[2] = { { 0 } };
	const struct cpa_version *v;

	(void)state;
	for (uint32_t slot = 1; slot < 2 * CPA_PATH_DELTAS; slot++)
		work(&p[0], slot, 10);
	cpa_path_copy(&self, &p[1], &p[0]);
	assert_int_equal(p[1].version, p[0].version);
	assert_int_equal(p[1].observed_version, p[0].observed_version);
	v = cpa_at(p[1].version);
	assert_int_equal(v->refs, 2);
	cpa_path_copy(&self, &p[1], &p[0]);
	assert_int_equal(v->refs, 2);
	for (uint32_t slot = 1; slot < 4 * CPA_PATH_DELTAS; slot++)
		work(&p[0], slot, 10);
	assert_int_equal(v->refs, 1);
	assert_int_equal(S(&p[1], 29), 10);
	assert_int_equal(S(&p[1], 2 * CPA_PATH_DELTAS + 1), 0);
	assert_int_equal(S(&p[0], 29), 20);
	clear_all(p, 2);
}

/* On a tie the local path stays the longest, whichever path O comes from. */
static void test_join_tie(void **state)
{
	struct cpa_path p[2] = { { 0 } };

	(void)state;
	work(&p[0], 2, 10);
	work(&p[1], 3, 10);
	assert_false(cpa_path_join(&self, &p[0], &p[1], true));
	assert_int_equal(H(&p[0], 2), 10);
	assert_int_equal(H(&p[0], 3), 0);
	/* Neither component alone would shorten the program. */
	assert_int_equal(S(&p[0], 2), 0);
	assert_int_equal(S(&p[0], 3), 0);
	assert_int_equal(O(&p[0], 2), 0);
	assert_int_equal(O(&p[0], 3), 10);
	clear_all(p, 2);
}

/* A path far behind cannot matter: the winner's version is shared, not copied. */
static void test_join_adopts(void **state)
{
	struct cpa_path p[2] = { { 0 } };

	(void)state;
	for (uint32_t slot = 1; slot < 40; slot++)
		work(&p[1], slot, 3);
	work(&p[0], 2, 1);
	assert_true(cpa_path_join(&self, &p[0], &p[1], true));
	assert_int_equal(p[0].version, p[1].version);
	assert_int_equal(p[0].len, 39 * 3);
	assert_int_equal(S(&p[0], 2), 3);
	clear_all(p, 2);
}

/*
 * Vectors of different lengths: a component that a path never met has no slack and no share in it.
 */
static void test_join_lengths(void **state)
{
	struct cpa_path p[2] = { { 0 } };

	(void)state;
	for (uint32_t slot = 1; slot < 20; slot++)
		work(&p[0], slot, 10);
	for (uint32_t slot = 1; slot < 90; slot++)
		work(&p[1], slot, 2);
	/* 190 against 178 */
	assert_false(cpa_path_join(&self, &p[0], &p[1], false));
	assert_int_equal(p[0].len, 190);
	assert_int_equal(S(&p[0], 1), 10);
	assert_int_equal(S(&p[0], 50), 0);
	assert_true(cpa_path_join(&self, &p[1], &p[0], false));
	assert_int_equal(S(&p[1], 1), 10);
	assert_int_equal(H(&p[1], 50), 0);
	assert_int_equal(O(&p[1], 50), 2);
	for (uint32_t slot = 0; slot < 100; slot++)
		assert_true(S(&p[0], slot) <= p[0].len);
	clear_all(p, 2);
}

/* The kinds of observed time go with O. */
static void test_join_observed_kinds(void **state)
{
	struct cpa_path p[2] = { { 0 } };

	(void)state;
	work(&p[0], 2, 100);
	work(&p[1], 3, 50);
	p[0].observed[CPA_TIME_PROCESS] = 100;
	p[1].observed[CPA_TIME_EXTERNAL] = 70;
	assert_false(cpa_path_join(&self, &p[0], &p[1], true));
	assert_int_equal(p[0].observed[CPA_TIME_PROCESS], 0);
	assert_int_equal(p[0].observed[CPA_TIME_EXTERNAL], 70);
	assert_int_equal(O(&p[0], 2), 0);
	assert_int_equal(O(&p[0], 3), 50);
	assert_int_equal(H(&p[0], 2), 100);
	clear_all(p, 2);
}

/*
 * Paths copied to and from an object again and again: the session does not grow, nothing is lost.
 */
static void test_no_leak(void **state)
{
	struct cpa_path p[3] = { { 0 } };
	uint64_t used = 0;

	(void)state;
	for (uint32_t i = 0; i < 1000000; i++) {
		struct cpa_path *local = &p[i % 2], *object = &p[2];

		work(local, 1 + i * 5 % 60, 1 + i % 3);
		cpa_path_join(&self, local, object, i % 3 == 0);
		cpa_path_copy(&self, object, local);
		if (i == 1000)
			used = cpa_header()->used;
	}
	assert_int_equal(cpa_header()->used, used);
	assert_int_equal(cpa_header()->diag[CPA_DIAG_VERSIONS_REFUSED], 0);
	clear_all(p, 3);
}

/* Without memory nothing crashes, the length stays right and slack stays below it. */
static void test_no_memory(void **state)
{
	enum { PATHS = 1000 };
	static struct cpa_path p[PATHS];
	uint64_t longest = 0;

	(void)state;
	memset(p, 0, sizeof(p));
	for (int i = 0; i < PATHS; i++) {
		for (uint32_t slot = 1; slot < 250; slot++)
			work(&p[i], slot, 1 + (uint64_t)i);
		longest = p[i].len > longest ? p[i].len : longest;
	}
	assert_true(cpa_header()->diag[CPA_DIAG_VERSIONS_REFUSED] > 0);
	assert_true(cpa_header()->used <= cpa_header()->limit);
	for (int i = 1; i < PATHS; i++) {
		cpa_path_join(&self, &p[0], &p[i], i % 2);
		assert_int_equal(p[0].len, p[i].len);
	}
	assert_int_equal(p[0].len, longest);
	for (uint32_t slot = 0; slot < 256; slot++)
		assert_true(S(&p[0], slot) <= p[0].len);
	/* It continues when there is memory again. */
	for (int i = 1; i < PATHS; i++)
		cpa_path_clear(&self, &p[i]);
	cpa_path_clear(&self, &p[0]);
	for (uint32_t slot = 1; slot < 250; slot++)
		work(&p[0], slot, 1);
	assert_int_equal(S(&p[0], 249), 1);
	clear_all(p, 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_online_cp_figure_1, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ips2_zeroing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_add_beyond_deltas, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deltas_are_packed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_delta_overflow, setup, teardown),
		cmocka_unit_test_setup_teardown(test_copy_shares_the_version, setup, teardown),
		cmocka_unit_test_setup_teardown(test_join_tie, setup, teardown),
		cmocka_unit_test_setup_teardown(test_join_adopts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_join_lengths, setup, teardown),
		cmocka_unit_test_setup_teardown(test_join_observed_kinds, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_leak, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_memory, setup_small, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
