/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_contexts.c - the stacks on a path are those of the activities on it
 *
 * Random histories of some paths, which get stacks, are copied and joined; beside each a plain list of
 * the stacks that it should have. Each seed is printed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "shadow/graph/contexts.h"
#include "tests/unit/shadow_session.h"

#define LIMIT  (UINT64_C(1) << 28)
#define SLOTS  64u
#define PATHS  6u
#define STEPS  4000u
#define NODES  5u
#define PERIOD 40u

static struct {
	struct cpa_path path;
	struct cpa_stacks stacks;
	uint64_t ticks[NODES]; /* sums of the list, for each node */
	uint64_t pending[NODES];
	unsigned latest; /* index of the node of the latest stack, if there was one */
	bool has_latest;
} p[PATHS];
static uint32_t node[NODES];
static uint64_t cpu[NODES]; /* ticks of all activities so far, for each node */

static int setup(void **state)
{
	(void)state;
	return test_session(LIMIT, SLOTS);
}

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *seed >> 33;
}

/* Add up the rows from @row backwards to @end, by node. */
static void add_up(uint32_t row, uint32_t end, uint64_t sum[NODES])
{
	while (row != end) {
		const struct cpa_stack *stack = cpa_row(CPA_TABLE_STACKS, row);
		unsigned k = 0;

		while (k < NODES && node[k] != stack->key - 1)
			k++;
		assert_true(k < NODES);
		assert_int_equal(stack->at, 100 + k);
		sum[k] += stack->ticks;
		row = stack->before;
	}
}

static void check(unsigned i)
{
	uint64_t sum[NODES] = { 0 };

	add_up(p[i].path.stack, 0, sum);
	assert_memory_equal(sum, p[i].ticks, sizeof(sum));
	for (unsigned k = 0; k < NODES; k++) {
		const struct cpa_context *context = cpa_row(CPA_TABLE_CONTEXTS, node[k]);
		uint64_t pending = 0;

		for (unsigned j = 0; j < PATHS; j++)
			pending += p[j].pending[k];
		assert_int_equal(context->ticks, cpu[k] + pending);
	}
}

/*
 * An activity of @process ticks ends. A short one has what its stacks stand for; a long one its own time,
 * in the proportions of its stacks to one tick for each row, or all of it where the latest stack was.
 */
static void end(unsigned i, uint64_t process)
{
	uint64_t sum[NODES] = { 0 }, pending = 0, expected, all = 0;
	uint32_t before = p[i].path.stack, rows = p[i].stacks.rows;
	bool is_long = process >= PERIOD && p[i].has_latest;

	for (unsigned k = 0; k < NODES; k++)
		pending += p[i].pending[k];
	cpa_stacks_put(&p[i].stacks, &p[i].path, process);
	add_up(p[i].path.stack, before, sum);
	for (unsigned k = 0; k < NODES; k++) {
		expected = !is_long ? p[i].pending[k] :
			   pending  ? p[i].pending[k] * process / pending :
				      (k == p[i].latest) * process;
		assert_in_range(sum[k], expected - (expected < rows ? expected : rows),
				expected + rows);
		all += sum[k];
		p[i].ticks[k] += sum[k];
		cpu[k] += sum[k];
	}
	assert_int_equal(all, is_long ? process : pending);
	memset(p[i].pending, 0, sizeof(p[i].pending));
	p[i].path.len += process;
}

static void step(struct cpa_self *self, uint64_t *seed)
{
	unsigned i = (unsigned)next(seed) % PATHS, j = (unsigned)next(seed) % PATHS;
	uint64_t ticks = 1 + next(seed) % 100;
	unsigned k = (unsigned)next(seed) % NODES;

	switch (next(seed) % 5) {
	case 0: /* a sample */
	case 1:
		p[i].stacks.period = PERIOD;
		cpa_stacks_add(&p[i].stacks, node[k], 100 + k, ticks);
		p[i].pending[k] += ticks;
		p[i].latest = k;
		p[i].has_latest = true;
		break;
	case 2: /* an activity ends */
		end(i, ticks);
		break;
	case 3: /* it was a wait */
		cpa_stacks_drop(&p[i].stacks);
		memset(p[i].pending, 0, sizeof(p[i].pending));
		break;
	default: /* an acquire */
		if (i != j && p[j].path.len > p[i].path.len)
			memcpy(p[i].ticks, p[j].ticks, sizeof(p[i].ticks));
		if (i != j)
			cpa_path_join(self, &p[i].path, &p[j].path, next(seed) % 2);
	}
	check(i);
}

static void test_on_path(void **state)
{
	uint64_t seed = getenv("CPA_SEED") ? strtoull(getenv("CPA_SEED"), NULL, 0) :
					     (uint64_t)time(NULL);
	struct cpa_self self = { 0 };
	uint32_t before;

	(void)state;
	print_message("CPA_SEED=%#lx\n", seed);
	for (unsigned k = 0; k < NODES; k++) {
		node[k] = cpa_context(k ? node[k - 1] : 0, 7 + k);
		assert_true(node[k] && node[k] == cpa_context(k ? node[k - 1] : 0, 7 + k));
	}
	assert_true(cpa_context_cut() && cpa_context_cut() == cpa_context_cut());
	for (unsigned n = 0; n < STEPS; n++)
		step(&self, &seed);
	/* What was dropped is used again. */
	cpa_stacks_put(&p[0].stacks, &p[0].path, 0);
	before = cpa_table(CPA_TABLE_STACKS)->used;
	for (unsigned n = 0; n < 1000; n++) {
		cpa_stacks_add(&p[0].stacks, node[0], 0, 1);
		cpa_stacks_drop(&p[0].stacks);
	}
	assert_true(cpa_table(CPA_TABLE_STACKS)->used <= before + 1);
}

/* With many stacks each row stands for more, and their sum stays. */
static void test_bounded(void **state)
{
	struct cpa_stacks stacks = { 0 };
	struct cpa_path path = { 0 };
	uint64_t sum = 0;

	(void)state;
	for (unsigned n = 0; n < 3 * CPA_STACKS_KEPT; n++)
		cpa_stacks_add(&stacks, node[0], 0, 8);
	cpa_stacks_put(&stacks, &path, 8);
	for (uint32_t row = path.stack; row;) {
		const struct cpa_stack *stack = cpa_row(CPA_TABLE_STACKS, row);

		sum += stack->ticks;
		row = stack->before;
	}
	assert_true(cpa_table(CPA_TABLE_STACKS)->used < 2 * CPA_STACKS_KEPT + 10000);
	/* To one step of rows. */
	assert_in_range(sum, 3 * 8 * (uint64_t)CPA_STACKS_KEPT - 8 * 4,
			3 * 8 * (uint64_t)CPA_STACKS_KEPT + 8 * 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_on_path),
		cmocka_unit_test(test_bounded),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, NULL);
}
