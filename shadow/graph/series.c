/* SPDX-License-Identifier: MIT */
#include "shadow/graph/series.h"

#include <string.h>

#include "shadow/graph/component.h"
#include "shadow/store/table.h"

/*
 * Rows times slots that may be read in each period, at about 4 ns each: at most half a per cent of
 * one processor.
 */
#define WORK UINT64_C(64000)

void (*cpa_series_hook)(struct cpa_self *self, const struct cpa_cut *now,
			const struct cpa_cut *before);

static struct cpa_program_series *program(void)
{
	return cpa_at(cpa_header()->series);
}

void cpa_series_init(uint64_t now)
{
	struct cpa_header *h = cpa_header();

	h->first_period = now / h->period;
	h->series = cpa_session_alloc(sizeof(struct cpa_program_series), CPA_CACHE_LINE);
}

/* Return the level after @periods; the first thread that finds it too low raises it. */
static uint32_t level_at(uint64_t periods)
{
	uint32_t *level = &cpa_header()->series_level;
	uint32_t old = __atomic_load_n(level, __ATOMIC_RELAXED), new;

	/* Relaxed: a sample is where its label says; the level only tells where to look. */
	do
		new = cpa_series_level(periods, old);
	while (new != old && !__atomic_compare_exchange_n(level, &old, new, true, __ATOMIC_RELAXED,
							  __ATOMIC_RELAXED));
	return new;
}

/* Claim the place with label @label for the sample of @boundary. Return false if it is taken. */
static bool claim(uint64_t *label, uint64_t boundary)
{
	uint64_t old = __atomic_load_n(label, __ATOMIC_RELAXED);

	if (old >> 2 >= boundary || (old & 3) == CPA_SAMPLE_WRITING)
		return false;
	/* ACQUIRE: later stores come after it. Readers load the label before and after. */
	return __atomic_compare_exchange_n(label, &old,
					   cpa_sample_label(boundary, CPA_SAMPLE_WRITING), false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void write_slots(const struct cpa_cut *cut, uint32_t place)
{
	for (uint32_t slot = 1; slot < cut->slots; slot++) {
		bool any = cut->share[slot] || cut->slack[slot] || cut->total[slot];
		uint32_t row = any ? cpa_table_intern(CPA_TABLE_SERIES, slot, NULL, NULL) :
				     cpa_table_find(CPA_TABLE_SERIES, slot);
		struct cpa_slot_series *s = row ? cpa_row(CPA_TABLE_SERIES, row) : NULL;

		if (!s)
			continue;
		s->value[place].share = cut->share[slot];
		s->value[place].slack = cut->slack[slot];
		s->value[place].total = cut->total[slot];
	}
}

/*
 * A row with a series that is not in the cut is newer: its place may hold values of an older
 * sample, which are cleared.
 */
static void write_threads(const struct cpa_cut *cut, uint32_t place)
{
	for (uint32_t i = 1; i <= cut->rows; i++) {
		const struct cpa_thread_point *point = &cut->point[i - 1];
		uint32_t row = point->released ? cpa_table_intern(CPA_TABLE_POINTS, i, NULL, NULL) :
						 cpa_table_find(CPA_TABLE_POINTS, i);
		struct cpa_thread_series *s = row ? cpa_row(CPA_TABLE_POINTS, row) : NULL;

		if (s)
			s->value[place] = *point;
	}
}

/* Fill @cut from the latest sample before @boundary; it stays empty if there is none. */
static void read_before(struct cpa_cut *cut, uint64_t boundary)
{
	const struct cpa_program_series *p = program();
	uint32_t place = CPA_SAMPLES;

	for (uint32_t i = 0; i < CPA_SAMPLES; i++) {
		/* ACQUIRE pairs with the RELEASE in take(). */
		uint64_t label = __atomic_load_n(&p->label[i], __ATOMIC_ACQUIRE);

		if ((label & 3) != CPA_SAMPLE_DONE || label >> 2 >= boundary ||
		    label >> 2 <= cut->boundary)
			continue;
		cut->boundary = label >> 2;
		place = i;
	}
	if (place == CPA_SAMPLES)
		return;
	memcpy(cut->field, p->value[place], sizeof(cut->field));
	for (uint32_t slot = 1; slot < cut->slots; slot++) {
		uint32_t row = cpa_table_find(CPA_TABLE_SERIES, slot);
		const struct cpa_slot_series *s = row ? cpa_row(CPA_TABLE_SERIES, row) : NULL;

		cut->share[slot] = s ? s->value[place].share : 0;
		cut->slack[slot] = s ? s->value[place].slack : 0;
		cut->total[slot] = s ? s->value[place].total : 0;
	}
}

static void call_hook(struct cpa_self *self, const struct cpa_cut *now)
{
	struct cpa_cut before;

	if (!cpa_series_hook)
		return;
	if (cpa_cut_init(&before, now->slots)) {
		read_before(&before, now->boundary);
		cpa_series_hook(self, now, &before);
	}
	cpa_cut_free(&before);
}

/* Take the sample of @boundary at @place, which this thread has claimed. */
static void take(struct cpa_self *self, uint64_t boundary, uint32_t place)
{
	struct cpa_program_series *p = program();
	enum cpa_sample_state state = CPA_SAMPLE_NONE;
	struct cpa_cut cut;

	if (cpa_cut_init(&cut, cpa_component_slots()) && cpa_cut_read(&cut, boundary)) {
		write_slots(&cut, place);
		write_threads(&cut, place);
		memcpy(p->value[place], cut.field, sizeof(cut.field));
		state = CPA_SAMPLE_DONE;
	}
	/*
	 * RELEASE: the values come first. If the cut failed, no other thread tries this sample
	 * again.
	 */
	__atomic_store_n(&p->label[place], cpa_sample_label(boundary, state), __ATOMIC_RELEASE);
	if (state == CPA_SAMPLE_DONE)
		call_hook(self, &cut);
	cpa_cut_free(&cut);
}

/*
 * Return the least level, log2 of the boundaries from one sample to the next, that the amount to
 * read allows.
 */
static uint32_t least_level(void)
{
	uint64_t work =
		(uint64_t)__atomic_load_n(&cpa_table(CPA_TABLE_THREADS)->used, __ATOMIC_RELAXED) *
		cpa_component_slots();
	uint32_t level = 0;

	while (work >> level > WORK)
		level++;
	return level;
}

/* Return whether the thread is the first to pass boundary @n or a later one. */
static bool first_to_pass(uint64_t n)
{
	uint64_t *passed = &cpa_header()->passed, old = __atomic_load_n(passed, __ATOMIC_RELAXED);

	/* Relaxed: it only selects the thread that samples; a cut checks its data itself. */
	while (old < n)
		if (__atomic_compare_exchange_n(passed, &old, n, true, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return true;
	return false;
}

void cpa_series_pass(struct cpa_self *self, uint64_t n)
{
	const struct cpa_header *h = cpa_header();
	uint64_t periods = n - 1 - h->first_period;
	uint32_t level, least, place;

	if (!h->series || !first_to_pass(n) || n - 1 <= h->first_period)
		return;
	level = level_at(periods);
	least = least_level();
	periods &= ~((UINT64_C(1) << (level > least ? level : least)) - 1);
	if (!periods)
		return;
	place = cpa_series_place(periods, level);
	if (claim(&program()->label[place], h->first_period + periods))
		take(self, h->first_period + periods, place);
}
