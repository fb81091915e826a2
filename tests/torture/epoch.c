/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/epoch.c - threads switch profiling on and off, and are stopped while they do
 *
 * A thread that is stopped while others change the epoch more often than there are borders is the
 * usual case here. In any order the sum of all parts equals the time that profiling was on, and no
 * look-up returns a border of another epoch than the one asked for.
 */
#include "shadow/store/epoch.h"

#include "tests/torture/torture.h"

static uint64_t clock_now; /* atomic */

static uint64_t tick(void)
{
	/* Relaxed: a clock that orders nothing. */
	return __atomic_add_fetch(&clock_now, 3, __ATOMIC_RELAXED);
}

/*
 * Every thread requests the opposite of the present state; each change is made by one thread.
 * count: ticks during which profiling was on.
 */
static void change(struct worker *w)
{
	struct cpa_header *h = cpa_header();
	unsigned n = torture_work(2000000);

	for (unsigned i = 0; i < n; i++) {
		bool on = rnd_percent(&w->r, 50);
		uint64_t at = cpa_epoch_change(h, on, tick());

		w->count += !at ? 0 : on ? -at : at;
	}
}

/*
 * Compare a border with the one before. Borders dropped meanwhile may seem later, but never
 * earlier.
 */
static void look(struct worker *w)
{
	const struct cpa_header *h = cpa_header();
	unsigned n = torture_work(2000000);
	uint64_t last = 0;

	for (unsigned i = 0; i < n; i++) {
		uint64_t epoch = cpa_epoch(h);
		uint64_t before = cpa_epoch_begun(h, epoch - 1), now = cpa_epoch_begun(h, epoch);
		uint64_t on_before = cpa_epoch_on(h, before), on = cpa_epoch_on(h, now);

		EXPECT(now >= last);
		last = now;
		if (cpa_epoch(h) - epoch >= CPA_BORDERS - 2)
			continue;
		w->count++;
		EXPECT(now > before);
		EXPECT(on - on_before == (cpa_epoch_is_on(epoch - 1) ? now - before : 0));
	}
	EXPECT(w->count > 0);
	w->count = 0;
}

static void change_or_look(struct worker *w)
{
	if (w->index < WORKERS - 2)
		change(w);
	else
		look(w);
}

static void run(void)
{
	struct cpa_header *h = cpa_header();
	uint64_t sum = 0, now, epoch;

	clock_now = h->start_ticks + 1000;
	cpa_epoch_begin(h, true);
	cpa_epoch_change(h, false, clock_now);
	sum += clock_now;
	torture_threads(WORKERS, change_or_look);
	for (unsigned i = 0; i < WORKERS; i++)
		sum += worker[i].count;
	now = clock_now + 1000000;
	epoch = cpa_epoch(h);
	EXPECT(epoch > 10 * CPA_BORDERS);
	sum += (cpa_epoch_is_on(epoch) ? now : 0) - h->start_ticks;
	EXPECT(cpa_epoch_on(h, now) == sum);
	for (uint64_t e = epoch - CPA_BORDERS + 4; e <= epoch; e++) {
		uint64_t from = cpa_epoch_begun(h, e - 1), to = cpa_epoch_begun(h, e);

		EXPECT(to > from);
		EXPECT(cpa_epoch_on(h, to) - cpa_epoch_on(h, from) ==
		       (cpa_epoch_is_on(e - 1) ? to - from : 0));
	}
}

int main(void)
{
	uint64_t seed = rnd_seed();

	for (unsigned i = 0; i < 3; i++)
		torture("switched by threads that are held up", seed + i, run);
	return torture_end();
}
