/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/cell.c - racing releases and reads of annotations
 *
 * The k-th path of writer i is k ticks long, all in the component of slot 2 + i. A join of several
 * paths thus has the length of the longest, and without component j the length of the longest by
 * another writer than j. Length and slack reveal a lost release, or a read of a version that was
 * reused.
 */
#define WORKERS 16

#include "shadow/edge/cell.h"

#include "tests/torture/torture.h"

#define CELLS	4
#define WRITERS (WORKERS / 2)

static uint64_t cell[CELLS];
static uint64_t begun[CELLS][WRITERS], done[CELLS][WRITERS]; /* atomic: lengths released, ticks */
static uint64_t reads;					     /* atomic */

static void release(struct worker *w, unsigned n)
{
	struct cpa_path *path = &w->self.row->path;

	for (uint64_t i = 1; i <= n; i++) {
		unsigned to = (unsigned)rnd_below(&w->r, CELLS);

		cpa_path_add(&w->self, path, 2 + w->index, 1);
		path->len = i;
		path->released = i;
		/* Relaxed: a bound for later readers. */
		__atomic_store_n(&begun[to][w->index], i, __ATOMIC_RELAXED);
		cpa_cell_release(&w->self, &cell[to], path);
		/*
		 * RELEASE: a thread that sees it finds the path in the cell. Pairs with bounds().
		 */
		__atomic_store_n(&done[to][w->index], i, __ATOMIC_RELEASE);
	}
}

static void bounds(uint64_t from[], uint64_t to[WRITERS])
{
	for (unsigned i = 0; i < WRITERS; i++)
		/* ACQUIRE pairs with the RELEASE store to `done`. */
		to[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
}

/* Return the longest length by another writer than @but. */
static uint64_t longest(const uint64_t of[WRITERS], unsigned but)
{
	uint64_t max = 0;

	for (unsigned i = 0; i < WRITERS; i++)
		if (i != but && of[i] > max)
			max = of[i];
	return max;
}

/* The path in cell @c has at least what was released before, and at most what was begun since. */
static void read_cell(struct cpa_self *self, struct cpa_path *path, unsigned c)
{
	struct cpa_wait wait = { .arrived = 1, .now = 1 };
	uint64_t least[WRITERS], most[WRITERS];

	cpa_path_clear(self, path);
	bounds(done[c], least);
	cpa_cell_acquired(self, &cell[c], &wait);
	bounds(begun[c], most);
	EXPECT(path->len >= longest(least, WRITERS) && path->len <= longest(most, WRITERS));
	for (unsigned i = 0; i < WRITERS; i++) {
		uint64_t without = path->len - cpa_path_value(path, CPA_S, 2 + i);

		EXPECT(without >= longest(least, i) && without <= longest(most, i));
	}
}

static void release_or_read(struct worker *w)
{
	unsigned n = torture_work(30000);

	if (w->index < WRITERS) {
		release(w, n);
		return;
	}
	for (unsigned i = 0; i < n; i++)
		read_cell(&w->self, &w->self.row->path, (unsigned)rnd_below(&w->r, CELLS));
	__atomic_fetch_add(&reads, n, __ATOMIC_RELAXED);
}

/* At rest the lower and upper bounds are equal: nothing was lost and nothing is pinned. */
static void check_ends(void)
{
	struct cpa_wait start = { .now = 1 };
	struct cpa_self self = { 0 };

	EXPECT(!cpa_thread_begin(&self, 0, 99, NULL, &start));
	for (unsigned c = 0; c < CELLS; c++) {
		read_cell(&self, &self.row->path, c);
		EXPECT(!memcmp(begun[c], done[c], sizeof(done[c])));
		EXPECT(cell[c] >> 32 == 0);
		cpa_cell_clear(&self, &cell[c]);
		EXPECT(cell[c] == 0);
	}
	cpa_thread_end(&self, 2);
}

static void run_cells(void)
{
	memset(begun, 0, sizeof(begun));
	memset(done, 0, sizeof(done));
	reads = 0;
	torture_threads(WORKERS, release_or_read);
	check_ends();
	EXPECT(cpa_table(CPA_TABLE_TOKENS)->used <= CELLS + (WORKERS + 1) * 40);
	EXPECT(cpa_header()->used < UINT64_C(8) << 20);
	torture_given_back();
	printf("# %llu reads; %u tokens, %llu KiB\n", (unsigned long long)reads,
	       cpa_table(CPA_TABLE_TOKENS)->used, (unsigned long long)cpa_header()->used >> 10);
}

int main(void)
{
	uint64_t seed = rnd_seed();

	printf("# seed %llu\n", (unsigned long long)seed);
	torture("a read depends on all releases before it", seed, run_cells);
	return torture_end();
}
