/* SPDX-License-Identifier: MIT */
/* tests/torture/search.c - components move while threads intern them, use them and search */
#include "shadow/graph/activity.h"
#include "shadow/edge/release.h"
#include "shadow/graph/search.h"

#include "tests/torture/torture.h"

#define REGIONS 4000u

static uint64_t clock_now; /* atomic */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cpa_object *object;

static uint32_t region(struct worker *w)
{
	/* A few regions are used much more than the others. */
	uint64_t i = rnd_percent(&w->r, 50) ? REGIONS - 1 - rnd_below(&w->r, 8) :
					      rnd_below(&w->r, REGIONS);
	struct cpa_component_name name = { .kind = CPA_REGION, .address = 1 + i };

	return cpa_component_intern(&name);
}

/* All time is in one of the regions. */
static void work(struct worker *w)
{
	struct cpa_span span = { .process = 1 + rnd_below(&w->r, 20) };
	uint32_t row = region(w);
	uint64_t now;

	cpa_hold(&w->self, row, cpa_component(row)->first);
	for (unsigned i = 0; i < 3; i++) {
		cpa_activity_end(&w->self, &span, 0);
		/* Relaxed: a clock that orders nothing. */
		now = __atomic_add_fetch(&clock_now, 1, __ATOMIC_RELAXED);
		if (cpa_search_is_due(now))
			cpa_search_tick(&w->self, now, 2);
	}
	cpa_unhold(&w->self, row);
}

static void work_and_meet(struct worker *w)
{
	unsigned n = torture_work(10000);
	uint64_t total = 0;

	for (unsigned i = 0; i < n; i++) {
		struct cpa_wait wait = { .arrived = 1, .now = 2 };

		work(w);
		pthread_mutex_lock(&lock);
		cpa_lock_acquired(&w->self, object, &wait);
		cpa_lock_release(&w->self, object);
		pthread_mutex_unlock(&lock);
	}
	for (uint32_t slot = CPA_SLOT_FIRST; slot < 256; slot++)
		total += cpa_path_value(&w->self.row->path, CPA_H, slot);
	/* Every tick of the longest path went to one slot, whichever components moved. */
	EXPECT(total == w->self.row->path.len);
	EXPECT(w->self.row->held_count == 0);
}

static void run_search(void)
{
	uint32_t users[256] = { 0 };

	object = torture_object();
	torture_threads(WORKERS, work_and_meet);
	printf("# %llu steps, %u moves\n",
	       (unsigned long long)cpa_header()->diag[CPA_DIAG_SEARCH_STEPS], cpa_header()->moves);
	EXPECT(cpa_header()->moves > 0);
	for (uint32_t i = 1; i <= cpa_table(CPA_TABLE_COMPONENTS)->used; i++) {
		const struct cpa_component *c = cpa_component(i);

		if (!c->key)
			continue;
		EXPECT(c->slot >= CPA_SLOT_FIRST && c->slot < 256);
		users[c->slot]++;
	}
	for (uint32_t i = 1; i <= cpa_table(CPA_TABLE_COMPONENTS)->used; i++)
		if (cpa_component(i)->key && !cpa_component(i)->shared)
			EXPECT(users[cpa_component(i)->slot] == 1);
	cpa_object_clear(&main_self, object);
	torture_given_back();
}

int main(void)
{
	uint64_t seed = rnd_seed();

	printf("# seed %llu\n", (unsigned long long)seed);
	torture("no time is lost while components move", seed, run_search);
	return torture_end();
}
