/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/table.c - many threads intern the same keys at once
 */
#include "tests/torture/torture.h"

#define KEYS 100000u

static uint32_t found[WORKERS][KEYS];
static unsigned keys;

static void fill(void *row, const void *argument)
{
	((struct cpa_site *)row)->module = *(const uint32_t *)argument;
}

static uint32_t current; /* atomic: the key that all threads intern at present */

/* All threads race for the same new key; then each looks up all keys. */
static void intern_all(struct worker *w)
{
	uint32_t n;

	while ((n = __atomic_load_n(&current, __ATOMIC_RELAXED)) <= keys) {
		uint32_t row = cpa_table_intern(CPA_TABLE_SITES, n, fill, &n);
		const struct cpa_site *site = cpa_row(CPA_TABLE_SITES, row);

		EXPECT(row && site->key == n && site->module == n);
		EXPECT(!found[w->index][n - 1] || found[w->index][n - 1] == row);
		found[w->index][n - 1] = row;
		__atomic_compare_exchange_n(&current, &n, n + 1, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
	}
	for (uint32_t at = 0; at < keys; at++) {
		uint32_t row = cpa_table_find(CPA_TABLE_SITES, at + 1);

		EXPECT(row && (!found[w->index][at] || found[w->index][at] == row));
	}
}

static void run_intern(void)
{
	const struct cpa_table *t = cpa_table(CPA_TABLE_SITES);
	uint32_t with_key = 0;

	keys = torture_work(KEYS) < KEYS ? torture_work(KEYS) : KEYS;
	memset(found, 0, sizeof(found));
	current = 1;
	torture_threads(WORKERS, intern_all);
	for (uint32_t at = 0; at < keys; at++) {
		uint32_t row = cpa_table_find(CPA_TABLE_SITES, at + 1);

		with_key += row != 0;
		for (unsigned i = 0; i < WORKERS; i++)
			EXPECT(!found[i][at] || found[i][at] == row);
	}
	/* Rows that lost a race have no key: readers skip them. */
	for (uint32_t row = 1; row <= t->used; row++)
		with_key -= ((struct cpa_site *)cpa_row(CPA_TABLE_SITES, row))->key != 0;
	EXPECT(with_key == 0);
	EXPECT(t->refused == 0);
}

static uint32_t slot[WORKERS][2000];

static void intern_components(struct worker *w)
{
	for (uint32_t i = 0; i < 2000; i++) {
		struct cpa_component_name name = { .kind = i % 2 ? CPA_FUNCTION : CPA_LOCK,
						   .address = 0x1000 + i };

		slot[w->index][i] = cpa_component_slot(cpa_component_intern(&name));
	}
}

/* A name has one slot, whichever thread asks; slots that are not shared belong to one name. */
static void run_components(void)
{
	uint32_t owners[256] = { 0 };

	torture_threads(WORKERS, intern_components);
	for (uint32_t i = 0; i < 2000; i++) {
		for (unsigned k = 1; k < WORKERS; k++)
			EXPECT(slot[k][i] == slot[0][i]);
		EXPECT(slot[0][i] < 256);
	}
	for (uint32_t row = 1; row <= cpa_table(CPA_TABLE_COMPONENTS)->used; row++) {
		const struct cpa_component *c = cpa_component(row);

		if (c->key && !c->shared && c->slot)
			owners[c->slot]++;
	}
	for (unsigned i = 0; i < 256; i++)
		EXPECT(owners[i] <= 1);
}

/* Under TSan, threads waiting for a larger table to grow would exceed their time limit. */
#ifdef __SANITIZE_THREAD__
#define ROWS 3000u
#else
#define ROWS 20000u
#endif

static uint32_t appended[WORKERS][ROWS];

static void append_all(struct worker *w)
{
	for (unsigned i = 0; i < ROWS; i++) {
		struct cpa_object *o;

		appended[w->index][i] = cpa_table_append(CPA_TABLE_OBJECTS);
		if (!appended[w->index][i]) {
			EXPECT(!"no row");
			return;
		}
		o = cpa_row(CPA_TABLE_OBJECTS, appended[w->index][i]);
		EXPECT(o->key == 0);
		o->key = w->index + 1;
	}
}

static void run_append(void)
{
	torture_threads(WORKERS, append_all);
	EXPECT(cpa_table(CPA_TABLE_OBJECTS)->used == WORKERS * ROWS);
	/* Chunks double, so half of the space may be unused; but no chunk was allocated twice. */
	EXPECT(cpa_header()->used < 2 * WORKERS * ROWS * sizeof(struct cpa_object));
	for (unsigned k = 0; k < WORKERS; k++)
		for (unsigned i = 0; i < ROWS; i++)
			EXPECT(((struct cpa_object *)cpa_row(CPA_TABLE_OBJECTS, appended[k][i]))
				       ->key == k + 1);
}

int main(void)
{
	uint64_t seed = rnd_seed();

	printf("# seed %llu\n", (unsigned long long)seed);
	torture("one key has one row", seed, run_intern);
	torture("one name has one slot", seed, run_components);
	torture("no row is handed out twice", seed, run_append);
	return torture_end();
}
