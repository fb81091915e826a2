/* SPDX-License-Identifier: MIT */
/* tests/unit/test_series.c - checkpoints at boundaries, cuts, and folding of series */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "shadow/graph/activity.h"
#include "shadow/graph/checkpoint.h"
#include "shadow/edge/release.h"
#include "shadow/graph/series.h"
#include "tests/unit/shadow_session.h"

#define PERIOD 128u
#define START  1024u

static struct cpa_self t[3];
static struct cpa_object object;

static int setup(void **state)
{
	int ret = test_session(UINT64_C(64) << 20, 64);

	(void)state;
	memset(t, 0, sizeof(t));
	memset(&object, 0, sizeof(object));
	cpa_header()->period = PERIOD;
	cpa_series_init(START);
	return ret;
}

static int teardown(void **state)
{
	(void)state;
	cpa_series_hook = NULL;
	cpa_object_clear(&t[0], &object);
	for (int i = 0; i < 3; i++)
		cpa_version_forget_spares(&t[i]);
	test_rows_clear(&t[0]);
	if (cpa_heap_live())
		return -1;
	cpa_session_destroy();
	return 0;
}

static void begin(int i, uint64_t now)
{
	struct cpa_wait w = { .now = now };

	assert_int_equal(cpa_thread_begin(&t[i], 0, 1, NULL, &w), 0);
}

/* The thread works up to clock @now, with component @slot. */
static void work(int i, uint64_t now, uint32_t slot)
{
	const struct cpa_sampled sample = { slot, 1 };
	struct cpa_span span = { .process = now - t[i].row->path.released,
				 .sampled = 1,
				 .sample = &sample };

	now = cpa_checkpoint(&t[i], now);
	cpa_activity_end(&t[i], &span, 0);
	t[i].row->path.released = now;
	t[i].row->path.owner = t[i].id;
}

static void release(int i)
{
	cpa_lock_release(&t[i], &object);
}

static void acquire(int i, uint64_t arrived, uint64_t now)
{
	struct cpa_wait w = { .arrived = arrived, .now = cpa_checkpoint(&t[i], now) };

	cpa_lock_acquired(&t[i], &object, &w);
}

static uint64_t component(void)
{
	struct cpa_component_name name = { .kind = CPA_FUNCTION, .address = 0x1000 };

	return cpa_component_slot(cpa_component_intern(&name));
}

/* Return the cut at clock @clock, which must exist; the caller frees it. */
static struct cpa_cut cut_at(uint64_t clock)
{
	struct cpa_cut cut;

	assert_true(cpa_cut_init(&cut, cpa_component_slots()));
	assert_true(cpa_cut_read(&cut, clock / PERIOD));
	return cut;
}

static bool can_cut(uint64_t clock)
{
	struct cpa_cut cut;
	bool can;

	assert_true(cpa_cut_init(&cut, 8));
	can = cpa_cut_read(&cut, clock / PERIOD);
	cpa_cut_free(&cut);
	return can;
}

/* The state at a boundary is that before the first event behind it, however old. */
static void test_checkpoint(void **state)
{
	uint32_t slot = (uint32_t)component();
	struct cpa_cut cut;

	(void)state;
	begin(0, START);
	work(0, START + 100, slot);
	work(0, START + 10 * PERIOD + 5, slot);
	for (uint64_t n = 1; n <= 10; n++) {
		cut = cut_at(START + n * PERIOD);
		assert_int_equal(cut.field[CPA_SERIES_LEN], 100);
		assert_int_equal(cut.field[CPA_SERIES_PROCESS], 100);
		assert_int_equal(cut.share[slot], 100);
		assert_int_equal(cut.slack[slot], 100);
		assert_int_equal(cut.total[slot], 100);
		cpa_cut_free(&cut);
	}
	cut = cut_at(START + 11 * PERIOD);
	assert_int_equal(cut.field[CPA_SERIES_LEN], 10 * PERIOD + 5);
	assert_int_equal(cut.field[CPA_SERIES_EVENTS], 2);
	cpa_cut_free(&cut);
	cut = cut_at(START); /* it had not begun */
	assert_int_equal(cut.field[CPA_SERIES_RELEASED], 0);
	cpa_cut_free(&cut);
}

/* Two checkpoints are kept: a boundary further back is no longer available. */
static void test_overrun(void **state)
{
	(void)state;
	begin(0, START);
	for (unsigned n = 1; n <= 4; n++)
		work(0, START + n * PERIOD, 3);
	assert_true(can_cut(START + 4 * PERIOD));
	assert_true(can_cut(START + 3 * PERIOD));
	assert_false(can_cut(START + 2 * PERIOD));
}

/* A row in the middle of an event cannot be read; its checkpoint can be. */
static void test_in_the_middle(void **state)
{
	(void)state;
	begin(0, START);
	work(0, START + PERIOD, 3);
	cpa_writing(t[0].row);
	assert_true(can_cut(START + PERIOD));
	assert_false(can_cut(START + 2 * PERIOD));
	cpa_written(t[0].row);
	assert_true(can_cut(START + 2 * PERIOD));
}

/*
 * A thread that continues from a release behind a boundary has passed it, even if its own clock is
 * slightly late (C1). The boundary's cut thus has the work of neither.
 */
static void test_clock_of_release(void **state)
{
	struct cpa_cut cut;

	(void)state;
	begin(0, START);
	begin(1, START);
	work(0, START + PERIOD + 3, 3);
	release(0);
	work(1, START + 10, 3);
	acquire(1, START + 20, START + PERIOD - 2);
	assert_int_equal(t[1].row->path.len, PERIOD + 3);
	assert_int_equal(t[1].row->path.released, START + PERIOD + 3);
	cut = cut_at(START + PERIOD);
	assert_int_equal(cut.field[CPA_SERIES_LEN], 10);
	assert_int_equal(cut.field[CPA_SERIES_PROCESS], 10);
	cpa_cut_free(&cut);
	/* A release of its own with a clock before the boundary is behind the boundary, too. */
	work(1, START + PERIOD - 1, 3);
	assert_int_equal(t[1].row->path.released, START + PERIOD);
}

/* A reused row: the state before the boundary is that of its earlier thread. */
static void test_row_used_again(void **state)
{
	struct cpa_cut cut;
	uint32_t row;

	(void)state;
	begin(0, START);
	work(0, START + 100, 3);
	row = t[0].number;
	cpa_thread_end(&t[0], START + 100);
	cpa_thread_joined(row);
	memset(&t[1], 0, sizeof(t[1]));
	t[1].number = row; /* as if there were very many */
	begin(1, START + PERIOD + 10);
	work(1, START + PERIOD + 40, 3);
	cut = cut_at(START + PERIOD);
	assert_int_equal(cut.field[CPA_SERIES_LEN], 100);
	assert_int_equal(cut.field[CPA_SERIES_PROCESS], 100);
	cpa_cut_free(&cut);
	cut = cut_at(START + 2 * PERIOD);
	assert_int_equal(cut.field[CPA_SERIES_LEN], 100);
	assert_int_equal(cut.field[CPA_SERIES_PROCESS], 130);
	cpa_cut_free(&cut);
}

static struct {
	unsigned calls;
	uint64_t now, before, len_before;
} hook;

static void note(struct cpa_self *self, const struct cpa_cut *now, const struct cpa_cut *before)
{
	assert_ptr_equal(self, &t[0]);
	hook.calls++;
	hook.now = now->boundary;
	hook.before = before->boundary;
	hook.len_before = before->field[CPA_SERIES_LEN];
}

static void test_hook(void **state)
{
	const uint64_t first = START / PERIOD;

	(void)state;
	memset(&hook, 0, sizeof(hook));
	cpa_series_hook = note;
	begin(0, START);
	work(0, START + PERIOD, 3);
	assert_int_equal(hook.calls, 0);
	work(0, START + 2 * PERIOD, 3);
	assert_int_equal(hook.now, first + 1);
	assert_int_equal(hook.before, 0);
	work(0, START + 7 * PERIOD + 1, 3);
	assert_int_equal(hook.calls, 2);
	assert_int_equal(hook.now, first + 6);
	assert_int_equal(hook.before, first + 1);
	assert_int_equal(hook.len_before, 0);
}

/* The sample of boundary first + @periods, or NULL. */
static const uint64_t *sample(uint64_t periods)
{
	const struct cpa_header *h = cpa_header();
	const struct cpa_program_series *p = cpa_at(h->series);
	uint32_t place = cpa_series_place(periods, h->series_level);

	return p->label[place] == cpa_sample_label(h->first_period + periods, CPA_SAMPLE_DONE) ?
		       p->value[place] :
		       NULL;
}

/* A long run: the series holds every 2^k-th sample of one that was never folded. */
static void test_fold(void **state)
{
	const unsigned all = 37 * CPA_SAMPLES;
	uint32_t slot = (uint32_t)component(), row;
	uint64_t *len = calloc(all, sizeof(*len)), used;
	const struct cpa_slot_series *s;

	(void)state;
	begin(0, START);
	srand(4711);
	used = cpa_header()->used;
	for (unsigned n = 1; n < all; n++) {
		uint64_t now = START + n * PERIOD;

		len[n] = t[0].row->path.len; /* the event at the boundary is behind it */
		for (unsigned i = 0; i <= (unsigned)rand() % 3; i++)
			work(0, now + i, slot);
		if (n == CPA_SAMPLES)
			used = cpa_header()->used;
	}
	assert_int_equal(cpa_header()->used, used); /* constant */
	row = cpa_table_find(CPA_TABLE_SERIES, slot);
	assert_int_not_equal(row, 0);
	s = cpa_row(CPA_TABLE_SERIES, row);
	for (unsigned n = 1; n < all - 1; n++) {
		bool kept = n % (1u << cpa_header()->series_level) == 0;
		const uint64_t *v = kept ? sample(n) : NULL;

		if (!kept)
			continue;
		assert_non_null(v);
		assert_int_equal(v[CPA_SERIES_LEN], len[n]);
		assert_int_equal(s->value[cpa_series_place(n, cpa_header()->series_level)].share,
				 v[CPA_SERIES_LEN]);
	}
	assert_in_range(all >> cpa_header()->series_level, CPA_SAMPLES / 2, CPA_SAMPLES);
	free(len);
}

/*
 * Three months with the real distance of boundaries, a few events a day, on a machine that has been
 * up for years: each sample has the state before its boundary, and samples are as dense as
 * possible.
 */
static void test_months(void **state)
{
	enum { EVENTS = 400 };
	const uint64_t day = UINT64_C(86400) * 4000000000u, begun = UINT64_C(1) << 62;
	uint32_t slot = (uint32_t)component(), found = 0, row;
	uint64_t clock[EVENTS], len[EVENTS], now = begun;
	const struct cpa_program_series *p;

	(void)state;
	cpa_header()->period = CPA_PERIOD;
	cpa_series_init(begun);
	p = cpa_at(cpa_header()->series);
	begin(0, begun);
	srand(4712);
	for (unsigned i = 0; i < EVENTS; i++) {
		now += 1 + (uint64_t)rand() * (uint64_t)rand() % (day / 2);
		work(0, now, slot);
		clock[i] = now;
		len[i] = t[0].row->path.len;
		assert_int_equal(len[i], now - begun);
	}
	assert_in_range((now - begun) / day, 60, 180);
	row = cpa_table_find(CPA_TABLE_SERIES, slot);
	assert_int_not_equal(row, 0);
	for (unsigned place = 0; place < CPA_SAMPLES; place++) {
		uint64_t boundary = p->label[place] >> 2, want = 0;
		const struct cpa_slot_series *s = cpa_row(CPA_TABLE_SERIES, row);

		if ((p->label[place] & 3) != CPA_SAMPLE_DONE)
			continue;
		for (unsigned i = 0; i < EVENTS && clock[i] < boundary * CPA_PERIOD; i++)
			want = len[i];
		assert_int_equal(p->value[place][CPA_SERIES_LEN], want);
		assert_int_equal(p->value[place][CPA_SERIES_PROCESS], want);
		assert_int_equal(s->value[place].share, want);
		assert_int_equal(s->value[place].slack, want);
		found++;
	}
	assert_in_range(found, CPA_SAMPLES / 2 - 1, CPA_SAMPLES);
	assert_in_range((now - begun) / CPA_PERIOD >> cpa_header()->series_level, CPA_SAMPLES / 2,
			CPA_SAMPLES);
}

/* Each thread's sums and the clock of their event; a later thread has none before its start. */
static void test_threads(void **state)
{
	const struct cpa_thread_series *s[2];
	uint32_t place[2], row;

	(void)state;
	begin(0, START);
	work(0, START + 100, 3);
	t[0].row->bytes_read = 5;
	t[0].row->bytes_written = 2;
	work(0, START + PERIOD + 10, 3);
	begin(1, START + PERIOD + 20);
	work(1, START + PERIOD + 30, 3);
	work(0, START + 2 * PERIOD + 1, 3);
	work(1, START + 3 * PERIOD + 1, 3);
	for (uint32_t i = 0; i < 2; i++) {
		place[i] = cpa_series_place(i + 1, 0);
		row = cpa_table_find(CPA_TABLE_POINTS, t[i].number);
		assert_int_not_equal(row, 0);
		s[i] = cpa_row(CPA_TABLE_POINTS, row);
	}
	assert_int_equal(s[0]->value[place[0]].released, START + 100);
	assert_int_equal(s[0]->value[place[0]].process, 100);
	assert_int_equal(s[0]->value[place[0]].events, t[0].row->events - 2);
	assert_int_equal(s[0]->value[place[0]].bytes, 7);
	assert_int_equal(s[0]->value[place[1]].released, START + PERIOD + 10);
	assert_int_equal(s[1]->value[place[0]].released, 0);
	assert_int_equal(s[1]->value[place[1]].released, START + PERIOD + 30);
	assert_int_equal(s[1]->value[place[1]].process, 10);
	for (uint32_t i = 0; i < 2; i++) {
		const uint64_t *sum = sample(i + 1);

		assert_int_equal(sum[CPA_SERIES_PROCESS],
				 s[0]->value[place[i]].process + s[1]->value[place[i]].process);
		assert_int_equal(sum[CPA_SERIES_EVENTS],
				 s[0]->value[place[i]].events + s[1]->value[place[i]].events);
	}
}

/* Places: samples that survive a fold do not move, and no two samples of a level share a place. */
static void test_places(void **state)
{
	(void)state;
	for (uint32_t level = 0; level < 40; level++) {
		bool taken[CPA_SAMPLES] = { false };

		for (uint64_t j = 0; j < CPA_SAMPLES; j++) {
			uint32_t place = cpa_series_place(j << level, level);

			assert_false(taken[place]);
			taken[place] = true;
			if (j % 2 == 0)
				assert_int_equal(cpa_series_place(j << level, level + 1), place);
		}
	}
}

/* A place whose writer never returned is lost, but no other. */
static void test_writer_lost(void **state)
{
	struct cpa_program_series *p;
	const uint64_t first = START / PERIOD;

	(void)state;
	p = cpa_at(cpa_header()->series);
	p->label[cpa_series_place(2, 0)] = cpa_sample_label(first + 2, CPA_SAMPLE_WRITING);
	begin(0, START);
	for (unsigned n = 1; n < 2 * CPA_SAMPLES; n++)
		work(0, START + n * PERIOD, 3);
	assert_int_equal(cpa_header()->series_level, 1);
	for (unsigned n = 2; n < 2 * CPA_SAMPLES - 2; n += 2)
		assert_true((sample(n) != NULL) == (n != 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_checkpoint, setup, teardown),
		cmocka_unit_test_setup_teardown(test_overrun, setup, teardown),
		cmocka_unit_test_setup_teardown(test_in_the_middle, setup, teardown),
		cmocka_unit_test_setup_teardown(test_clock_of_release, setup, teardown),
		cmocka_unit_test_setup_teardown(test_row_used_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hook, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fold, setup, teardown),
		cmocka_unit_test_setup_teardown(test_months, setup, teardown),
		cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_places, setup, teardown),
		cmocka_unit_test_setup_teardown(test_writer_lost, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
