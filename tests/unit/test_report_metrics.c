/* SPDX-License-Identifier: MIT */
/* tests/unit/test_report_metrics.c - metrics by level, curves of threads, phases of a known run */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/profile/components.h"
#include "analysis/profile/curves.h"
#include "analysis/profile/threads.h"
#include "analysis/metrics/metrics.h"
#include "analysis/metrics/phases.h"
#include "analysis/metrics/segment.h"
#include "shadow/graph/series.h"
#include "tests/unit/made_profile.h"

static struct cpa_metrics *metrics;
static struct cpa_phases *phases;
static unsigned seed;
static double window_s, gap_s; /* profiling is on for one, off for the other; 0: always on */
static bool early;	       /* samples of the last second of main's wait have all of it */

static void build_phases(const struct cpa_phase_settings *settings)
{
	build(CPA_GRAPH_ALL);
	metrics = cpa_metrics_build(profile);
	phases = cpa_phases_build(profile, settings);
}

static int teardown_phases(void **state)
{
	cpa_metrics_free(metrics);
	cpa_phases_free(phases);
	window_s = gap_s = 0;
	early = false;
	return teardown(state);
}

#define assert_near(got, expected, off)                                                     \
	do {                                                                                \
		if (!(fabs((got) - (expected)) <= (off)))                                   \
			fail_msg("%s: %.9f, expected %.9f", #got, got, (double)(expected)); \
	} while (0)
#define assert_same(got, expected) assert_near(got, expected, 1e-9)

/*
 * The example: main works 7 s, waits 2 s and is ready for 0.5 s, of 10 s; its worker works 5 s, is
 * blocked 1 s and waits 1 s, of 9 s. Their 42 events come to 4.2 a second. The path is 8 s.
 */
static void test_example(void **state)
{
	static const struct cpa_phase_settings none;
	const double *program, *first, *second;

	(void)state;
	dump_maker_example(&maker);
	for (uint32_t row = 1; row <= 2; row++) {
		struct cpa_thread *thread = dump_maker_at(&maker, CPA_TABLE_THREADS, row);

		thread->start_ticks = MAKER_START;
		thread->bytes_read = 1000 * row;
		thread->bytes_written = 5000;
	}
	build_phases(&none);
	program = metrics->row[CPA_AT_PROGRAM][0].value;
	assert_same(program[CPA_METRIC_MACHINES], 1);
	assert_same(program[CPA_METRIC_PROCESSES], 1);
	assert_same(program[CPA_METRIC_THREADS], 2);
	assert_same(program[CPA_METRIC_TIME], 10);
	assert_same(program[CPA_METRIC_CPU], 12);
	assert_same(program[CPA_METRIC_WAIT], 3);
	assert_same(program[CPA_METRIC_WAIT_CPU], 0.5);
	assert_same(program[CPA_METRIC_EXTERNAL], 1);
	assert_same(program[CPA_METRIC_PROBE], 0.5);
	assert_same(program[CPA_METRIC_RESPONSE], 10.0 / 12);
	assert_same(program[CPA_METRIC_LOAD], 12.5 / 12);
	assert_same(program[CPA_METRIC_PARALLELISM], 1.2);
	assert_same(program[CPA_METRIC_MOST_PARALLELISM], 13.0 / 8);
	assert_same(program[CPA_METRIC_UTILIZATION], 0.6);
	assert_same(program[CPA_METRIC_PROGRESS], 4);
	assert_same(program[CPA_METRIC_OPERATIONS], 4.2);
	assert_same(program[CPA_METRIC_BYTES], 1300);
	assert_true(isnan(program[CPA_METRIC_CALLS]));

	assert_int_equal(metrics->rows[CPA_AT_MACHINE], 1);
	assert_int_equal(metrics->rows[CPA_AT_PROCESS], 1);
	assert_true(isnan(metrics->row[CPA_AT_MACHINE][0].value[CPA_METRIC_MACHINES]));
	assert_same(metrics->row[CPA_AT_MACHINE][0].value[CPA_METRIC_PROCESSES], 1);
	assert_true(isnan(metrics->row[CPA_AT_PROCESS][0].value[CPA_METRIC_PROCESSES]));
	assert_int_equal(metrics->row[CPA_AT_PROCESS][0].id, 4711);
	assert_same(metrics->row[CPA_AT_PROCESS][0].value[CPA_METRIC_PARALLELISM], 1.2);

	assert_int_equal(metrics->rows[CPA_AT_THREAD], 2);
	first = metrics->row[CPA_AT_THREAD][0].value;
	second = metrics->row[CPA_AT_THREAD][1].value;
	assert_string_equal(metrics->row[CPA_AT_THREAD][0].name, "main");
	assert_same(first[CPA_METRIC_TIME], 10);
	assert_same(first[CPA_METRIC_RESPONSE], 10.0 / 7);
	assert_same(first[CPA_METRIC_LOAD], 7.5 / 7);
	assert_same(first[CPA_METRIC_PROGRESS], 3.5);
	assert_same(first[CPA_METRIC_UTILIZATION], 0.7);
	assert_same(first[CPA_METRIC_OPERATIONS], 3);
	assert_true(isnan(first[CPA_METRIC_PARALLELISM]));
	assert_same(second[CPA_METRIC_TIME], 9);
	assert_same(second[CPA_METRIC_UTILIZATION], 5.0 / 9);
	assert_same(second[CPA_METRIC_BYTES], 7000.0 / 9);
}

/* Ten lock events at one site of example_worker, and as many in main's cache as it has. */
static void test_procedures_and_events(void **state)
{
	static const struct cpa_phase_settings none;
	double events = 0, cpu = 0;

	(void)state;
	dump_maker_example(&maker);
	build_phases(&none);
	for (size_t i = 0; i < metrics->rows[CPA_AT_PROCEDURE]; i++) {
		const struct cpa_metric_row *row = &metrics->row[CPA_AT_PROCEDURE][i];

		cpu += row->value[CPA_METRIC_CPU];
		if (strcmp(row->name, "example_work") == 0)
			assert_same(row->value[CPA_METRIC_CPU], 5);
		if (strcmp(row->name, "example_worker") == 0)
			assert_same(row->value[CPA_METRIC_OPERATIONS], 1.5);
		assert_true(isnan(row->value[CPA_METRIC_WAIT]));
	}
	assert_same(cpu, 5.5); /* the work, and time without samples */
	for (size_t i = 0; i < metrics->rows[CPA_AT_EVENT]; i++) {
		const struct cpa_metric_row *row = &metrics->row[CPA_AT_EVENT][i];

		events += row->base.events;
		if (row->id == 2) /* lock */
			assert_same(row->value[CPA_METRIC_WAIT], 1);
		if (row->id == 3) { /* unlock */
			assert_same(row->value[CPA_METRIC_TIME], 3);
			assert_same(row->value[CPA_METRIC_OPERATIONS], 1.5);
		}
	}
	assert_same(events, 15);
}

/*
 * A thread's life, event by event, compared with its samples: the value at a sample is exact where
 * no interval has two events; otherwise its error is at most the change between the two points
 * around it.
 */
static void check_life(bool sparse)
{
	enum { BUCKET = 1000, SAMPLES = 40 };
	struct cpa_thread_point points[SAMPLES + 1] = { { 0 } }, now = { .released = 300 };
	double truth[SAMPLES + 1], span[SAMPLES + 1] = { 0 };
	unsigned done = 1;

	truth[0] = 0;
	while (done <= SAMPLES) {
		uint64_t length = sparse ? BUCKET + (uint64_t)rand() % 4000 :
					   1 + (uint64_t)rand() % 3000;
		struct cpa_thread_point next = now;
		bool waits = rand() % 2;

		next.released += length;
		*(waits ? &next.wait : &next.process) += length;
		next.events++;
		for (; done <= SAMPLES && (uint64_t)done * BUCKET <= next.released; done++) {
			uint64_t clock = (uint64_t)done * BUCKET;
			double share = clock < now.released ?
					       0 :
					       (double)(clock - now.released) / (double)length;

			points[done - 1] = now;
			truth[done] =
				(double)now.process + share * (double)(next.process - now.process);
		}
		now = next;
	}
	points[SAMPLES] = now;
	for (unsigned i = 1; i <= SAMPLES; i++) {
		double value[CPA_CURVES], before = 0, after = (double)now.process;

		cpa_curve_at(points, SAMPLES + 1, (uint64_t)i * BUCKET, value);
		for (unsigned k = 0; k <= SAMPLES; k++) {
			if (points[k].released <= (uint64_t)i * BUCKET)
				before = (double)points[k].process;
			else if (after > (double)points[k].process)
				after = (double)points[k].process;
		}
		span[i] = after - before;
		if (fabs(value[CPA_CURVE_CPU] - truth[i]) > (sparse ? 1e-6 : span[i] + 1e-6))
			fail_msg("seed %u: %.3f at sample %u, in truth %.3f", seed,
				 value[CPA_CURVE_CPU], i, truth[i]);
	}
}

static void test_curves(void **state)
{
	double value[CPA_CURVES];
	/*
	 * A row that was without a thread from 200 to 700: the second one's 100 ticks end at 800.
	 */
	const struct cpa_thread_point gap[] = { { .released = 200, .process = 200 },
						{ .released = 800, .process = 300 } };

	(void)state;
	for (int round = 0; round < 200; round++)
		check_life(round % 2);
	cpa_curve_at(gap, 2, 650, value);
	assert_same(value[CPA_CURVE_CPU], 200);
	cpa_curve_at(gap, 2, 750, value);
	assert_same(value[CPA_CURVE_CPU], 250);
	cpa_curve_at(gap, 2, UINT64_MAX, value);
	assert_same(value[CPA_CURVE_CPU], 300);
	cpa_curve_at(gap, 2, 50, value); /* the thread began at 0 */
	assert_same(value[CPA_CURVE_CPU], 50);
}

/*
 * A run of 10 s, sampled every 0.25 s: main works for 3 s, two workers for 4 s while it waits, then
 * main for 3 s. Main meets an event at 3, 7 and 10 s only, the workers one every 0.1 s.
 */
#define SAMPLE_S 0.25
#define FIRST_S	 3.0
#define LAST_S	 7.0

static double within(double t, double from, double to)
{
	return fmin(fmax(t - from, 0), to - from);
}

/* When profiling had been on for @on seconds. */
static double clock_of(double on)
{
	return gap_s ? on + fmax(ceil(on / window_s) - 1, 0) * gap_s : on;
}

/* As many samples as of a run that is profiled all the time. */
static double period_s(void)
{
	return clock_of(10) / 10 * SAMPLE_S;
}

static double on_of(double t)
{
	double windows = gap_s ? floor(t / (window_s + gap_s)) : 0;
	double rest = t - windows * (window_s + gap_s);

	return gap_s ? windows * window_s + fmin(rest, window_s) : t;
}

/* The latest event before @t. */
static double main_event(double t)
{
	return t > 10 ? 10 : t > LAST_S ? LAST_S : t > FIRST_S ? FIRST_S : 0;
}

static double worker_event(double t)
{
	return FIRST_S + floor(within(t, FIRST_S, LAST_S) * 10) / 10;
}

static struct cpa_thread_point point_of(uint32_t row, double t)
{
	double s = row == 1 ? main_event(t) : worker_event(t);
	double middle = within(s, FIRST_S, LAST_S);

	if (row > 1 && t <= FIRST_S)
		return (struct cpa_thread_point){ 0 };
	if (row == 1 && early && t > LAST_S - 1 && t <= LAST_S)
		return (struct cpa_thread_point){ .released = MAKER_START + MAKER_TICKS(s + 0.001),
						  .process = MAKER_TICKS(s),
						  .wait = MAKER_TICKS(LAST_S - s),
						  .bytes = (uint64_t)(1000 * s) };
	return (struct cpa_thread_point){
		.released = MAKER_START + MAKER_TICKS(clock_of(s)),
		.process = MAKER_TICKS(row == 1 ? s - middle : middle),
		.wait = row == 1 ? MAKER_TICKS(middle) : 0,
		.events = row == 1 ? 0 : (uint64_t)(middle * 10 + 0.5),
		.bytes = row == 1 ? (uint64_t)(1000 * s) : 0,
	};
}

static void add_thread(uint32_t row)
{
	uint64_t totals[MAKER_SLOTS] = { 0 };
	struct cpa_thread_point end = point_of(row, 11);
	struct cpa_thread thread = {
		.key = row,
		.state = CPA_THREAD_EXITED,
		.tid = 100 + row,
		.component = row == 1 ? 3 : 4,
		.start_ticks = MAKER_START + (row == 1 ? 0 : MAKER_TICKS(clock_of(FIRST_S))),
		.process = end.process,
		.wait = end.wait,
		.events = end.events,
		.bytes_read = end.bytes,
		.totals_slots = MAKER_SLOTS,
		.path = { .len = row == 1 ? MAKER_TICKS(10) : MAKER_TICKS(LAST_S),
			  .released = end.released,
			  .owner = row,
			  .observed = { row == 1 ? MAKER_TICKS(10) : 0 } },
	};

	totals[row == 1 ? EXAMPLE_MAIN : EXAMPLE_WORKER] = end.process;
	thread.totals = dump_maker_block(&maker, totals, sizeof(totals));
	thread.path.delta[0] = maker_delta(EXAMPLE_MAIN, row == 1 ? 6 : FIRST_S);
	thread.path.delta[1] = maker_delta(EXAMPLE_WORKER, LAST_S - FIRST_S);
	dump_maker_header(&maker)->exit_thread = 1;
	dump_maker_row(&maker, CPA_TABLE_THREADS, &thread);
}

/* Samples as the writer would have them: the path and its shares up to the latest event. */
static void add_series(void)
{
	struct cpa_program_series program = { .label = { 0 } };
	struct cpa_slot_series slot[2] = { { .key = EXAMPLE_MAIN }, { .key = EXAMPLE_WORKER } };
	struct cpa_thread_series thread[3] = { { .key = 1 }, { .key = 2 }, { .key = 3 } };
	struct cpa_header *header;
	uint64_t offset;

	for (uint64_t j = 1; j < 10 / SAMPLE_S; j++) {
		double t = on_of((double)j * period_s() - (double)MAKER_START / MAKER_TICKS(1));
		uint32_t place = cpa_series_place(j, 0);
		double mine = main_event(t) - within(main_event(t), FIRST_S, LAST_S);
		double theirs = within(worker_event(t), FIRST_S, LAST_S);

		program.label[place] = cpa_sample_label(j, CPA_SAMPLE_DONE);
		program.value[place][CPA_SERIES_LEN] = MAKER_TICKS(mine + theirs);
		program.value[place][CPA_SERIES_PROCESS] = MAKER_TICKS(mine + 2 * theirs);
		slot[0].value[place].share = slot[0].value[place].slack = MAKER_TICKS(mine);
		slot[0].value[place].total = MAKER_TICKS(mine);
		slot[1].value[place].share = slot[1].value[place].slack = MAKER_TICKS(theirs);
		slot[1].value[place].total = MAKER_TICKS(2 * theirs);
		for (uint32_t row = 1; row <= 3; row++)
			thread[row - 1].value[place] = point_of(row, t);
	}
	offset = dump_maker_block(&maker, &program, sizeof(program));
	header = dump_maker_header(&maker);
	header->series = offset;
	header->period = MAKER_TICKS(period_s());
	for (uint32_t i = 0; i < 2; i++)
		dump_maker_row(&maker, CPA_TABLE_SERIES, &slot[i]);
	for (uint32_t i = 0; i < 3; i++)
		dump_maker_row(&maker, CPA_TABLE_POINTS, &thread[i]);
}

static void make_run(void)
{
	dump_maker_start(&maker);
	maker_add_components(&maker);
	for (uint32_t row = 1; row <= 3; row++)
		add_thread(row);
	add_series();
}

static const struct cpa_phase_share *share_of(const struct cpa_phase *phase, const char *name)
{
	for (size_t i = 0; i < phase->shares; i++)
		if (strcmp(profile->component[phase->share[i].component].name, name) == 0)
			return &phase->share[i];
	fail_msg("no %s in %s", name, phase->name);
	return NULL;
}

static void test_phases(void **state)
{
	static const double from_s[] = { 0, FIRST_S, LAST_S, 10 }, parallel[] = { 1, 2, 1 };
	static const struct cpa_phase_settings none;

	(void)state;
	make_run();
	build_phases(&none);
	assert_int_equal(profile->intervals->samples, 40);
	assert_int_equal(phases->found, 3);
	assert_int_equal(phases->count, 3);
	for (int i = 0; i < 3; i++) {
		const struct cpa_phase *phase = &phases->phase[i];
		double length = from_s[i + 1] - from_s[i];
		const char *name = i == 1 ? "example_worker" : "main";

		/* Samples are 5 ms before each quarter of a second. */
		assert_near(phase->from_s, from_s[i], 0.0051);
		assert_near(phase->to_s, from_s[i + 1], 0.0051);
		assert_near(phase->path_s, length, 0.011);
		assert_near(phase->value[CPA_METRIC_PARALLELISM], parallel[i], 0.01);
		assert_near(phase->value[CPA_METRIC_MOST_PARALLELISM], parallel[i], 0.01);
		assert_near(phase->value[CPA_METRIC_WAIT], i == 1 ? 4 : 0, 0.011);
		assert_near(phase->value[CPA_METRIC_OPERATIONS], i == 1 ? 20 : 0, 0.2);
		/*
		 * Its last activity is in the samples behind its end: one interval, at either end.
		 */
		assert_near(share_of(phase, name)->path_s, length, SAMPLE_S + 0.01);
		assert_near(share_of(phase, name)->saved_s, length, SAMPLE_S + 0.01);
	}
}

/* The threads' sums at each sample are the program's; at the end they are those of the report. */
static void test_sums(void **state)
{
	static const struct cpa_phase_settings none;
	const struct cpa_intervals *v;

	(void)state;
	make_run();
	build_phases(&none);
	v = profile->intervals;
	assert_int_equal(v->threads, 3);
	for (size_t i = 0; i < v->samples; i++) {
		double t = v->sample[i].at_s, middle = within(t, FIRST_S, LAST_S);

		assert_near(cpa_curves_sum(v, CPA_CURVE_CPU, i), t - middle + 2 * middle, 1e-6);
		assert_near(cpa_curves_sum(v, CPA_CURVE_WAIT, i), middle, 1e-6);
	}
	assert_same(cpa_curves_sum(v, CPA_CURVE_CPU, v->samples - 1), 14);
	assert_same(metrics->row[CPA_AT_PROGRAM][0].value[CPA_METRIC_CPU], 14);
}

/* A wait that samples hold before its end is spread over it all the same. */
static void test_early(void **state)
{
	early = true;
	test_sums(state);
}

/* The same run, but profiled in windows of @window seconds with @gap seconds between them. */
static void make_windows(double window, double gap)
{
	struct cpa_header *header;

	window_s = window;
	gap_s = gap;
	make_run();
	header = dump_maker_header(&maker);
	header->first_epoch = 1;
	header->epoch = 2 * (uint64_t)(10 / window) - 1;
	header->end_ticks = MAKER_START + MAKER_TICKS(clock_of(10));
	for (uint64_t epoch = 1; epoch <= header->epoch; epoch++) {
		uint64_t windows = epoch / 2, gaps = (epoch - 1) / 2;
		double on_s = (double)windows * window, off_s = (double)gaps * gap;

		header->border[epoch % CPA_BORDERS] = (struct cpa_border){
			.ticks = MAKER_START + MAKER_TICKS(on_s + off_s),
			.on = MAKER_TICKS(on_s),
		};
	}
}

/*
 * In no interval a thread has more time than was profiled. @off: how far samples may be from their time,
 * where the file no longer has the borders of the windows around them.
 */
static void check_windows(double off)
{
	const struct cpa_intervals *v = profile->intervals;
	double start = (double)MAKER_START / MAKER_TICKS(1), before = 0;

	assert_int_equal(v->samples, 40);
	for (size_t i = 0; i < v->samples; i++) {
		double t = v->sample[i].at_s, middle = within(t, FIRST_S, LAST_S);

		assert_near(t, i == 39 ? 10 : on_of((double)(i + 1) * period_s() - start), off);
		assert_near(cpa_curves_sum(v, CPA_CURVE_CPU, i), t - middle + 2 * middle, off);
		assert_near(cpa_curves_sum(v, CPA_CURVE_WAIT, i), middle, off);
		for (size_t row = 0; row < v->threads; row++) {
			const struct cpa_thread_intervals *thread = &v->thread[row];
			double grown = 0;

			for (unsigned k = CPA_CURVE_CPU; k <= CPA_CURVE_PROBE; k++)
				grown += cpa_curve(thread, k, i) -
					 cpa_curve(thread, k, i ? i - 1 : SIZE_MAX);
			assert_true(grown <= (t - before) + 1e-6 + off / 10);
		}
		before = t;
	}
}

static void test_windows(void **state)
{
	static const struct cpa_phase_settings none;

	(void)state;
	make_windows(0.5, 0.75);
	build_phases(&none);
	check_windows(1e-6);
	teardown_phases(NULL);
	make_windows(0.125, 0.25);
	build_phases(&none);
	check_windows(0.125);
	/* main lived for all of it. */
	assert_same(profile->thread[0].profiled_s, 10);
}

/* Each level's histogram adds up to the metric of the whole run. */
static void test_histogram(void **state)
{
	static const struct cpa_phase_settings none;
	static const enum cpa_metric sums[] = { CPA_METRIC_TIME, CPA_METRIC_CPU, CPA_METRIC_WAIT };

	(void)state;
	make_run();
	build_phases(&none);
	for (unsigned level = CPA_AT_PROGRAM; level <= CPA_AT_THREAD; level++) {
		for (size_t m = 0; m < 3; m++) {
			struct cpa_histogram *h =
				cpa_histogram_build(profile, metrics, sums[m], level);

			assert_non_null(h);
			assert_int_equal(h->bins, 40);
			for (size_t k = 0; k < h->rows; k++) {
				double all = 0;

				for (size_t i = 0; i < h->bins; i++)
					all += h->value[k * h->bins + i];
				/* A thread's time in samples is that of the run. */
				if (sums[m] == CPA_METRIC_TIME && level == CPA_AT_THREAD)
					assert_same(all, 10);
				else
					assert_same(all, h->row[k]->value[sums[m]]);
			}
			cpa_histogram_free(h);
		}
	}
	assert_null(cpa_histogram_build(profile, metrics, CPA_METRIC_CPU, CPA_AT_EVENT));
	assert_null(cpa_histogram_build(profile, metrics, CPA_METRIC_WAIT, CPA_AT_PROCEDURE));
	assert_null(cpa_histogram_build(profile, metrics, CPA_METRIC_CALLS, CPA_AT_PROGRAM));
}

/* A range by hand: from the sample nearest to its start to that nearest to its end. */
static void test_ranges(void **state)
{
	const struct cpa_phase_range range[] = { { "late", 8.1, INFINITY }, { "none", 5, 5.01 } };
	const struct cpa_phase *phase;

	(void)state;
	make_run();
	build_phases(&(struct cpa_phase_settings){ .ranges = 2, .range = range });
	assert_int_equal(phases->count, 5);
	phase = &phases->phase[3];
	assert_int_equal(phase->by, CPA_PHASE_GIVEN);
	assert_string_equal(phase->name, "late");
	assert_same(phase->from_s, 8.1);
	assert_same(phase->to_s, 10);
	assert_near(phase->sampled_from_s, 7.995, 1e-6);
	assert_near(phase->path_s, 2.005, 1e-6);
	assert_false(phases->phase[4].sampled);
	/* With a threshold that is never reached there is only the whole run. */
	cpa_phases_free(phases);
	phases = cpa_phases_build(profile, &(struct cpa_phase_settings){ .step = 10 });
	assert_int_equal(phases->found, 0);
	assert_int_equal(phases->count, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_example, teardown_phases),
		cmocka_unit_test_teardown(test_procedures_and_events, teardown_phases),
		cmocka_unit_test(test_curves),
		cmocka_unit_test_teardown(test_phases, teardown_phases),
		cmocka_unit_test_teardown(test_sums, teardown_phases),
		cmocka_unit_test_teardown(test_early, teardown_phases),
		cmocka_unit_test_teardown(test_windows, teardown_phases),
		cmocka_unit_test_teardown(test_histogram, teardown_phases),
		cmocka_unit_test_teardown(test_ranges, teardown_phases),
	};

	seed = argc > 1 ? (unsigned)atoi(argv[1]) : (unsigned)time(NULL);
	printf("# seed %u\n", seed);
	srand(seed);
	return cmocka_run_group_tests(tests, dump_maker_file, dump_maker_unlink);
}
