/* SPDX-License-Identifier: MIT */
/* tests/unit/test_window_sums.c - what is kept when a window begins is what a report would show then */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/ctl/window_sums.h"
#include "tests/unit/dump_queues.h"
#include "tests/unit/dump_windows.h"
#include "tests/unit/made_profile.h"
#include "analysis/profile/components.h"
#include "analysis/profile/objects.h"
#include "analysis/profile/queues.h"
#include "analysis/profile/streams.h"
#include "analysis/profile/threads.h"

#define ON  1u /* epochs: with profiling, for 10 s, and then without */
#define OFF 2u

static struct cpa_window_series *series;

static void add_stream(uint64_t waiting, uint64_t blocking)
{
	const struct cpa_stream row = { .key = 1 + maker.rows[CPA_TABLE_STREAMS],
					.kind = CPA_STREAM_PIPE,
					.records = 1,
					.waiting = waiting,
					.blocking = blocking,
					.writer = { 3 },
					.reader = { 4 } };

	dump_maker_row(&maker, CPA_TABLE_STREAMS, &row);
}

static struct cpa_component *class_row(uint32_t row)
{
	return dump_maker_at(&maker, CPA_TABLE_COMPONENTS, row);
}

/* The example runs, between two windows; some of its locks are of classes that share a slot. */
static int setup(void **state)
{
	const struct cpa_object spin = { .key = 9,
					 .kind = CPA_SPIN,
					 .class = 6,
					 .wait = MAKER_TICKS(0.5),
					 .hold = MAKER_TICKS(0.125) };
	uint64_t at;

	(void)state;
	dump_maker_example(&maker);
	dump_maker_queues(&maker);
	dump_maker_row(&maker, CPA_TABLE_OBJECTS, &spin);
	/* Neither a destroyed object nor a handle is one of the program's. */
	for (uint32_t row = 3; row <= 4; row++)
		((struct cpa_object *)dump_maker_at(&maker, CPA_TABLE_OBJECTS, row))->wait = 1000;
	((struct cpa_thread *)dump_maker_at(&maker, CPA_TABLE_THREADS, 1))->before = 1000;
	class_row(7)->retired_wait = MAKER_TICKS(0.25);
	class_row(7)->retired_hold = MAKER_TICKS(1);
	for (uint32_t row = 1; row <= maker.rows[CPA_TABLE_COMPONENTS]; row++)
		class_row(row)->first = class_row(row)->slot;
	add_stream(MAKER_TICKS(1), MAKER_TICKS(2));
	add_stream(MAKER_TICKS(3), 0);
	at = dump_maker_block(&maker, NULL,
			      sizeof(*series) + CPA_WINDOW_SAMPLES * WINDOW_LENGTH * 8);
	dump_maker_header(&maker)->windows = at;
	dump_maker_header(&maker)->state = CPA_RUNNING;
	dump_maker_header(&maker)->epoch = OFF;
	dump_maker_header(&maker)->first_epoch = ON;
	dump_maker_header(&maker)->border[ON].ticks = MAKER_START;
	dump_maker_header(&maker)->border[OFF] =
		(struct cpa_border){ MAKER_START + MAKER_TICKS(10), MAKER_TICKS(10) };
	series = (struct cpa_window_series *)(maker.bytes + at);
	series->slots = MAKER_SLOTS;
	return 0;
}

/* The sums of the session before a window behind a gap of mean @gap, which are then the latest sample. */
static const uint64_t *take_behind(uint64_t gap)
{
	struct cpa_control control = { .file = maker_file,
				       .header = dump_maker_header(&maker),
				       .size = maker.size };
	struct cpa_window_sums sums = { 0 };
	uint32_t samples = series->samples;

	cpa_window_sums_take(&sums, &control, gap);
	assert_false(sums.failed);
	cpa_window_sums_close(&sums);
	assert_int_equal(series->samples, samples + 1);
	assert_int_equal(series->windows, samples + 1);
	return series->value + samples * WINDOW_LENGTH;
}

static const uint64_t *take(void)
{
	return take_behind(0);
}

static void assert_ticks(uint64_t ticks, double seconds)
{
	if (fabs((double)ticks * profile->tick_s - seconds) > 1e-9 + 1e-9 * seconds)
		fail_msg("%llu ticks, %.9f s expected", (unsigned long long)ticks, seconds);
}

static void check_classes(const uint64_t *sample)
{
	const uint64_t *waited = sample + WINDOW_PLACE(CPA_WINDOW_WAITED, 0);
	const uint64_t *used = sample + WINDOW_PLACE(CPA_WINDOW_USED, 0);
	double wait_s = 0, hold_s = 0;
	size_t shared = 0;

	for (size_t i = 0; i < profile->objects; i++) {
		const struct cpa_object_figures *o = &profile->object[i];

		if (o->slot == EXAMPLE_SHARED) {
			wait_s += o->wait_s;
			hold_s += o->hold_s;
			shared++;
			continue;
		}
		assert_true(o->wait_s > 0 && o->hold_s > 0);
		assert_ticks(waited[o->slot], o->wait_s);
		assert_ticks(used[o->slot], o->hold_s);
	}
	/* The class without an object is in no row of the report. */
	assert_int_equal(shared, 1);
	assert_ticks(waited[EXAMPLE_SHARED], wait_s + 0.25);
	assert_ticks(used[EXAMPLE_SHARED], hold_s + 1);
	assert_string_equal(profile->queue[0].name, "tasks");
	assert_int_equal(used[EXAMPLE_QUEUE], profile->queue[0].dequeued);
	assert_ticks(waited[EXAMPLE_QUEUE],
		     profile->queue[0].wait_s * (double)profile->queue[0].dequeued);
}

static void test_report(void **state)
{
	const uint64_t *sample = take(), *total = sample + WINDOW_PLACE(CPA_WINDOW_TOTAL, 0);
	double waiting_s = 0, blocking_s = 0;

	(void)state;
	build(CPA_GRAPH_NODES);
	assert_ticks(sample[CPA_WINDOW_LEN], profile->program.critical_path_s);
	assert_ticks(sample[CPA_WINDOW_ON], profile->program.wall_s);
	assert_ticks(sample[CPA_WINDOW_PROCESS], profile->program.work_s);
	assert_ticks(sample[CPA_WINDOW_WAIT], profile->program.wait_s);
	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *c = &profile->component[i];

		assert_ticks(sample[WINDOW_PLACE(CPA_WINDOW_SHARE, c->slot)], c->critical_path_s);
		assert_ticks(sample[WINDOW_PLACE(CPA_WINDOW_SLACK, c->slot)], c->saved_s);
		assert_ticks(total[c->slot], c->total_s);
	}
	check_classes(sample);
	for (size_t i = 0; i < profile->threads; i++) {
		const struct cpa_thread_figures *t = &profile->thread[i];

		assert_ticks(sample[WINDOW_ROW(CPA_WINDOW_THREAD_CPU, t->row)], t->cpu_s);
		assert_ticks(sample[WINDOW_ROW(CPA_WINDOW_THREAD_WAIT, t->row)], t->wait_s);
	}
	for (uint32_t row = 1; row <= 2; row++) {
		waiting_s += (double)sample[WINDOW_ROW(CPA_WINDOW_STREAM_WAITING, row)];
		blocking_s += (double)sample[WINDOW_ROW(CPA_WINDOW_STREAM_BLOCKING, row)];
	}
	assert_int_equal(profile->streams, 1);
	assert_ticks((uint64_t)waiting_s, profile->stream[0].waited_s);
	assert_ticks((uint64_t)blocking_s, profile->stream[0].blocked_s);
}

/* Sums that are read twice are the same. Rows beyond those that are kept change nothing else. */
static void test_again(void **state)
{
	const uint64_t *sample = take();

	(void)state;
	assert_memory_equal(sample, take(), WINDOW_LENGTH * sizeof(*sample));
	while (maker.rows[CPA_TABLE_STREAMS] <= CPA_WINDOW_ROWS)
		add_stream(0, 0);
	((struct cpa_stream *)dump_maker_at(&maker, CPA_TABLE_STREAMS, CPA_WINDOW_ROWS + 1))
		->waiting = 1;
	series = (struct cpa_window_series *)(maker.bytes + dump_maker_header(&maker)->windows);
	sample = take();
	assert_memory_equal(sample, sample - WINDOW_LENGTH, WINDOW_LENGTH * sizeof(*sample));
}

/* A sample has the gaps before the windows that have ended, and the series those of all. */
static void test_gaps(void **state)
{
	(void)state;
	assert_int_equal(take_behind(100)[CPA_WINDOW_GAPS], 0);
	assert_int_equal(take_behind(20)[CPA_WINDOW_GAPS], 100);
	assert_int_equal(series->gaps, 120);
}

/* Slots of a damaged session. */
static void test_damage(void **state)
{
	const uint64_t *sample;

	(void)state;
	class_row(2)->first = MAKER_SLOTS;
	class_row(6)->first = UINT32_MAX;
	((struct cpa_object *)dump_maker_at(&maker, CPA_TABLE_OBJECTS, 2))->class = UINT32_MAX;
	((struct cpa_queue *)dump_maker_at(&maker, CPA_TABLE_QUEUES, 1))->component = UINT32_MAX;
	sample = take();
	assert_int_equal(sample[WINDOW_PLACE(CPA_WINDOW_WAITED, EXAMPLE_POOL)], 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_report),
		TEST(test_again),
		TEST(test_gaps),
		TEST(test_damage),
	};

	return cmocka_run_group_tests(tests, dump_maker_file, dump_maker_unlink);
}
