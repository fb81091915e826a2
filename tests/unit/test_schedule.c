/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_schedule.c - what a round takes with so many threads, compared with a slow reference
 *
 * Random pieces of random tasks. With one thread they take their work, with any number of threads the longest
 * chain, which the reference finds by recursion; with others between both, and if no task waits within Graham's bound. Prints its seed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/exact/pieces.h"
#include "tests/property/random.h"

#define PIECES 40u
#define RUNS   3000u

static struct rnd rnd;
static struct cpa_piece piece[PIECES];
static uint32_t later[PIECES * PIECES], order[PIECES], place[PIECES];
static bool depends[PIECES][PIECES]; /* [of][on] */
static struct cpa_round round_of;
static struct cpa_pieces all = { .piece = piece, .later = later, .order = order, .index = place };

/* Pieces depend on earlier ones, so there is no circle. */
static void make(unsigned pieces, bool waits)
{
	uint32_t used = 0;

	memset(piece, 0, sizeof(piece));
	memset(depends, 0, sizeof(depends));
	round_of = (struct cpa_round){ .pieces = pieces, .tasks = 1 };
	for (uint32_t i = 0; i < pieces; i++) {
		order[i] = place[i] = i;
		piece[i].joint = (uint32_t)rnd_below(&rnd, 6) == 0;
		piece[i].work = piece[i].joint ? 0 : (uint32_t)rnd_below(&rnd, 5);
		piece[i].before = piece[i].parent = CPA_NO_PIECE;
		piece[i].begun_by = i;
		round_of.work += piece[i].work;
		for (uint32_t k = 0; k < i; k++)
			depends[i][k] = (uint32_t)rnd_below(&rnd, 8) == 0;
		if (waits && i && !piece[i].joint && (uint32_t)rnd_below(&rnd, 3) == 0) {
			uint32_t before = (uint32_t)rnd_below(&rnd, i);
			bool taken = piece[before].joint;

			for (uint32_t k = 0; k < i; k++)
				taken |= piece[k].before == before;
			if (!taken)
				piece[i].before = before;
			if (!taken)
				piece[i].begun_by = piece[before].begun_by;
			depends[i][before] = true;
		}
	}
	for (uint32_t i = 0; i < pieces; i++) {
		piece[i].next = used;
		for (uint32_t k = 0; k < pieces; k++) {
			if (!depends[k][i])
				continue;
			later[used++] = k;
			piece[i].nexts++;
			piece[k].waits_for++;
		}
	}
	all.pieces = pieces;
}

static uint64_t chain_to(uint32_t i)
{
	uint64_t most = 0;

	for (uint32_t k = 0; k < i; k++) {
		uint64_t chain = depends[i][k] ? chain_to(k) : 0;

		most = chain > most ? chain : most;
	}
	return most + piece[i].work;
}

static uint64_t longest_chain(void)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < all.pieces; i++) {
		uint64_t chain = chain_to(i);

		most = chain > most ? chain : most;
	}
	return most;
}

static void check(unsigned run, bool waits)
{
	double chain = (double)longest_chain(), work = (double)round_of.work;

	assert_true(cpa_round_ticks(&all, &round_of, 1) == work);
	assert_true(cpa_round_ticks(&all, &round_of, 0) == chain);
	for (uint32_t threads = 2; threads < 6; threads++) {
		double ticks = cpa_round_ticks(&all, &round_of, threads);

		/* Graham's bound holds for any order without idle threads, as they are in waits. */
		double most = waits ? work : work / threads + chain * (threads - 1) / threads;

		if (ticks < chain || ticks * threads < work || ticks > most + 1e-9)
			fail_msg("run %u, %u threads: %g of work %g, chain %g", run, threads, ticks,
				 work, chain);
	}
}

static void test_random(void **state)
{
	(void)state;
	for (unsigned run = 0; run < RUNS; run++) {
		bool waits = run % 2;

		make(1 + (uint32_t)rnd_below(&rnd, run < RUNS / 2 ? 10 : 18), waits);
		check(run, waits);
	}
}

/* A task of 9 and three of 3, behind a creation of 1: the order is that in which they were made. */
static void test_known(void **state)
{
	static const uint32_t works[] = { 1, 3, 3, 3, 9 };

	(void)state;
	memset(piece, 0, sizeof(piece));
	round_of = (struct cpa_round){ .pieces = 5, .tasks = 4, .work = 19 };
	all.pieces = 5;
	for (uint32_t i = 0; i < 5; i++) {
		order[i] = place[i] = i;
		piece[i] = (struct cpa_piece){ .work = works[i],
					       .before = CPA_NO_PIECE,
					       .parent = CPA_NO_PIECE,
					       .begun_by = i,
					       .waits_for = i > 0 };
		later[i] = i + 1;
	}
	piece[0].nexts = 4;
	assert_true(cpa_round_ticks(&all, &round_of, 2) == 1 + 3 + 9);
	assert_true(cpa_round_ticks(&all, &round_of, 4) == 1 + 9);
	assert_true(cpa_round_ticks(&all, &round_of, 0) == 1 + 9);
}

/* Rounds without tasks. */
static void test_loops(void **state)
{
	struct cpa_round even = { .threads = 2, .work = 20, .busiest = 10 };
	struct cpa_round uneven = { .threads = 2, .work = 20, .busiest = 15 };
	struct cpa_round alone = { .threads = 2, .work = 20, .busiest = 20 };
	struct cpa_round one = { .threads = 1, .work = 20, .busiest = 20 };

	(void)state;
	assert_true(cpa_round_ticks(&all, &even, 4) == 5);
	assert_true(cpa_round_ticks(&all, &even, 1) == 20);
	assert_true(cpa_round_ticks(&all, &uneven, 2) == 15);
	assert_true(cpa_round_ticks(&all, &uneven, 4) == 7.5);
	assert_true(cpa_round_ticks(&all, &uneven, 1) == 20);
	assert_true(cpa_round_ticks(&all, &uneven, 0) == 0);
	assert_true(cpa_round_ticks(&all, &alone, 4) == 20);
	assert_true(cpa_round_ticks(&all, &alone, 0) == 20);
	assert_true(cpa_round_ticks(&all, &one, 4) == 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_loops),
	};
	uint64_t seed = rnd_seed();

	print_message("# CPA_SEED=%llu\n", (unsigned long long)seed);
	rnd = rnd_sequence(seed, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
