/* SPDX-License-Identifier: MIT */
#include "shadow/graph/contexts.h"

#include "shadow/store/table.h"

#define MANY 4096u /* rows of one activity */

static struct cpa_stack *stack_at(uint32_t row)
{
	return cpa_row(CPA_TABLE_STACKS, row);
}

uint32_t cpa_context(uint32_t caller, uint32_t site)
{
	return cpa_table_intern(CPA_TABLE_CONTEXTS, (uint64_t)caller << 32 | site, NULL, NULL);
}

uint32_t cpa_context_cut(void)
{
	return cpa_table_intern(CPA_TABLE_CONTEXTS, CPA_CONTEXT_CUT, NULL, NULL);
}

uint32_t cpa_context_parts(bool all)
{
	return cpa_table_intern(CPA_TABLE_CONTEXTS, all ? CPA_CONTEXT_PARTS : CPA_CONTEXT_PARTS_CUT,
				NULL, NULL);
}

void cpa_context_use(uint32_t context, enum cpa_use_kind kind, uint32_t class, uint64_t ticks)
{
	uint64_t key = (uint64_t)kind << 62 | (uint64_t) class << 32 | context;
	uint32_t row = cpa_table_intern(CPA_TABLE_USES, key, NULL, NULL);
	struct cpa_use *use = row ? cpa_row(CPA_TABLE_USES, row) : NULL;

	if (!use)
		return;
	/* Relaxed: sums. */
	__atomic_fetch_add(&use->ticks, ticks, __ATOMIC_RELAXED);
	__atomic_fetch_add(&use->stacks, 1, __ATOMIC_RELAXED);
}

/* Return a row that only the thread knows; 0: no space. */
static uint32_t take_row(struct cpa_stacks *stacks)
{
	uint32_t row = stacks->spare;

	if (!row)
		return cpa_table_append(CPA_TABLE_STACKS);
	stacks->spare = stack_at(row)->before;
	return row;
}

/* Return how many stacks each row stands for now, a power of two. */
static uint64_t step(void)
{
	/* Relaxed: a count. */
	uint32_t used = __atomic_load_n(&cpa_table(CPA_TABLE_STACKS)->used, __ATOMIC_RELAXED);

	return UINT64_C(1) << used / CPA_STACKS_KEPT;
}

/* Add a row for the latest stack that stands for @ticks. */
static void add_row(struct cpa_stacks *stacks, uint64_t ticks)
{
	uint32_t row = take_row(stacks);
	struct cpa_stack *stack;

	if (!row) {
		cpa_diag(CPA_DIAG_STACKS_REFUSED);
		return;
	}
	stack = stack_at(row);
	stack->before = stacks->last;
	stack->ticks = ticks;
	stack->at = stacks->latest_at;
	stack->key = (uint64_t)stacks->latest + 1;
	if (!stacks->first)
		stacks->first = row;
	stacks->last = row;
	stacks->rows++;
	stacks->sum += ticks;
}

static void count(uint32_t context, uint64_t ticks)
{
	struct cpa_context *node = cpa_row(CPA_TABLE_CONTEXTS, context);

	/* Relaxed: a sum. */
	__atomic_fetch_add(&node->ticks, ticks, __ATOMIC_RELAXED);
}

void cpa_stacks_add(struct cpa_stacks *stacks, uint32_t context, uint32_t at, uint64_t ticks)
{
	uint64_t each = step();

	count(context, ticks);
	cpa_diag(CPA_DIAG_STACKS);
	stacks->latest = context;
	stacks->latest_at = at;
	if (stacks->turn++ % each == 0)
		add_row(stacks, ticks * each);
}

/* There are no stacks from here on. */
static void begin_anew(struct cpa_stacks *stacks)
{
	stacks->first = stacks->last = stacks->rows = 0;
	stacks->sum = 0;
}

/* Let the rows stand for @process ticks in all. */
static void divide(const struct cpa_stacks *stacks, uint64_t process)
{
	uint64_t rest = process, sum = stacks->sum, part;
	struct cpa_stack *stack;

	for (uint32_t row = stacks->last, n = stacks->rows; n && sum; n--, row = stack->before) {
		stack = stack_at(row);
		part = (uint64_t)((unsigned __int128)rest * stack->ticks / sum);
		sum -= stack->ticks;
		rest -= part;
		count((uint32_t)(stack->key - 1), part - stack->ticks);
		stack->ticks = part;
	}
}

void cpa_stacks_drop(struct cpa_stacks *stacks)
{
	if (!stacks->first)
		return;
	if (step() == 1)
		divide(stacks, 0);
	stack_at(stacks->first)->before = stacks->spare;
	stacks->spare = stacks->last;
	begin_anew(stacks);
}

void cpa_stacks_put(struct cpa_stacks *stacks, struct cpa_path *path, uint64_t process)
{
	/* Where rows are left out, or are many, what they stand for is right as it is, or nearly. */
	if (stacks->latest && process >= stacks->period && stacks->rows < MANY && step() == 1) {
		if (stacks->rows) {
			divide(stacks, process);
		} else {
			count(stacks->latest, process);
			add_row(stacks, process);
		}
	}
	if (!stacks->first)
		return;
	stack_at(stacks->first)->before = path->stack;
	path->stack = stacks->last;
	begin_anew(stacks);
}
