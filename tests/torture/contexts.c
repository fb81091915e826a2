/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/contexts.c - many threads add stacks to one tree of contexts
 */
#include "shadow/graph/contexts.h"
#include "tests/torture/torture.h"

#define STACKS 20000u
#define SITES  6u
#define DEPTH  5u
#define CLASS  3u

static struct cpa_path path[WORKERS];
static uint64_t ticks_of[WORKERS]; /* that the stacks on its path stand for */
static uint64_t used[WORKERS];	   /* uses that it counted */

/* A context at random; its callers exist before it does. */
static uint32_t context_at_random(struct worker *w)
{
	unsigned depth = 1 + rnd_below(&w->r, DEPTH);
	uint32_t context = 0, next;

	for (unsigned i = 0; i < depth; i++) {
		next = cpa_context(context, 1 + rnd_below(&w->r, SITES));
		EXPECT(next && (!context || next != context));
		context = next;
	}
	return context;
}

/* So few that each has a row of its own. */
static unsigned stacks_each(void)
{
	unsigned n = torture_work(STACKS), most = CPA_STACKS_KEPT / WORKERS - 1;

	return n < most ? n : most;
}

static void add_stacks(struct worker *w)
{
	struct cpa_stacks stacks = { .period = UINT64_MAX };
	unsigned n = stacks_each();
	uint64_t pending = 0, ticks;

	for (unsigned i = 0; i < n; i++) {
		uint32_t context = context_at_random(w);

		ticks = 1 + rnd_below(&w->r, 100);
		cpa_stacks_add(&stacks, context, 1, ticks);
		cpa_context_use(context, CPA_USE_WAIT, CLASS, ticks);
		used[w->index] += ticks;
		pending += ticks;
		if (rnd_below(&w->r, 4))
			continue;
		if (rnd_below(&w->r, 3)) {
			/* A short activity: nothing is divided. */
			cpa_stacks_put(&stacks, &path[w->index], 0);
			ticks_of[w->index] += pending;
		} else {
			cpa_stacks_drop(&stacks);
		}
		pending = 0;
	}
	cpa_stacks_drop(&stacks);
}

/* The caller of each context comes before it, and no two contexts are the same. */
static uint64_t tree_ticks(void)
{
	uint32_t rows = cpa_table(CPA_TABLE_CONTEXTS)->used;
	uint64_t sum = 0;

	for (uint32_t i = 1; i <= rows; i++) {
		const struct cpa_context *c = cpa_row(CPA_TABLE_CONTEXTS, i);

		if (!c->key) /* a row that lost a race */
			continue;
		EXPECT(c->key >> 32 < i);
		EXPECT(cpa_table_find(CPA_TABLE_CONTEXTS, c->key) == i);
		sum += c->ticks;
	}
	return sum;
}

static void run_contexts(void)
{
	uint64_t on_paths = 0, expected = 0, waited = 0, counted = 0;

	memset(path, 0, sizeof(path));
	memset(ticks_of, 0, sizeof(ticks_of));
	memset(used, 0, sizeof(used));
	torture_threads(WORKERS, add_stacks);
	for (unsigned i = 0; i < WORKERS; i++) {
		uint64_t sum = 0;

		for (uint32_t row = path[i].stack; row;) {
			const struct cpa_stack *stack = cpa_row(CPA_TABLE_STACKS, row);

			sum += stack->ticks;
			row = stack->before;
		}
		EXPECT(sum == ticks_of[i]);
		on_paths += sum;
		expected += used[i];
	}
	for (uint32_t row = 1; row <= cpa_table(CPA_TABLE_USES)->used; row++) {
		const struct cpa_use *use = cpa_row(CPA_TABLE_USES, row);

		waited += use->key ? use->ticks : 0;
		counted += use->key ? use->stacks : 0;
	}
	/* What was dropped is taken back. */
	EXPECT(tree_ticks() == on_paths);
	EXPECT(waited == expected);
	EXPECT(counted == (uint64_t)WORKERS * stacks_each());
	EXPECT(cpa_table(CPA_TABLE_CONTEXTS)->refused == 0);
}

int main(void)
{
	uint64_t seed = rnd_seed();

	printf("# seed %llu\n", (unsigned long long)seed);
	torture("a tree of contexts has all stacks once", seed, run_contexts);
	return torture_end();
}
