/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_report_margins.c - margins from a series of windows, intact and damaged, in each table; two
 * rivals
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "analysis/profile/components.h"
#include "analysis/profile/lock_arrays.h"
#include "analysis/profile/processes.h"
#include "analysis/profile/threads.h"
#include "analysis/render/json.h"
#include "analysis/render/text.h"
#include "analysis/verdict/rivals.h"
#include "tests/property/margins_slow.h"
#include "tests/unit/dump_queues.h"
#include "tests/unit/dump_windows.h"
#include "tests/unit/made_profile.h"

#define BATCHES	  20u
#define QUANTILE  2.093 /* of the t distribution with 19 degrees of freedom, 97.5 % */
#define WINDOW_S  0.05
#define PATH_S(i) (0.02 + 0.001 * (double)((i) % 5)) /* of window @i */

/* What window @i has of two functions: @wave makes them differ now this way, now that. */
static double work_s(unsigned i, double wave)
{
	return PATH_S(i) * (0.5 + (i % 2 ? wave : -wave));
}

static double kernel_s(unsigned i, double wave)
{
	return PATH_S(i) * (0.2 + (i % 2 ? -wave : wave));
}

static double wave_of; /* the present series */

static uint64_t has(unsigned i, size_t place)
{
	switch (place) {
	case CPA_WINDOW_LEN:
		return MAKER_TICKS(PATH_S(i));
	case CPA_WINDOW_ON:
		return MAKER_TICKS(WINDOW_S);
	case CPA_WINDOW_PROCESS:
		return MAKER_TICKS(0.04);
	case CPA_WINDOW_WAIT:
		return MAKER_TICKS(0.01 * (i % 3));
	case WINDOW_PLACE(CPA_WINDOW_SHARE, EXAMPLE_WORK):
	case WINDOW_PLACE(CPA_WINDOW_SLACK, EXAMPLE_WORK):
		return MAKER_TICKS(work_s(i, wave_of));
	case WINDOW_PLACE(CPA_WINDOW_SHARE, EXAMPLE_KERNEL):
	case WINDOW_PLACE(CPA_WINDOW_SLACK, EXAMPLE_KERNEL):
		return MAKER_TICKS(kernel_s(i, wave_of));
	default:
		return 0;
	}
}

static struct cpa_window_series *add_series(unsigned windows, double wave)
{
	wave_of = wave;
	return dump_maker_windows(&maker, windows, has);
}

static int setup(void **state)
{
	(void)state;
	dump_maker_example(&maker);
	return 0;
}

static const struct cpa_component_figures *find(uint32_t slot)
{
	for (size_t i = 0; i < profile->components; i++)
		if (profile->component[i].kind == CPA_FUNCTION &&
		    profile->component[i].slot == slot)
			return &profile->component[i];
	fail_msg("no component of slot %u", slot);
	return NULL;
}

static void assert_near(double found, double expected)
{
	if (!(fabs(found - expected) <= 1e-3 * expected))
		fail_msg("%.9g found, %.9g expected", found, expected);
}

/* Half of the interval of the share of @part in the path, step by step. */
static double slow_margin(double (*part)(unsigned i, double wave), double wave)
{
	double path = 0, all = 0, squares = 0;

	for (unsigned i = 0; i < BATCHES; i++) {
		path += PATH_S(i);
		all += part(i, wave);
	}
	for (unsigned i = 0; i < BATCHES; i++)
		squares += pow(part(i, wave) - all / path * PATH_S(i), 2);
	return QUANTILE * sqrt(squares / (BATCHES - 1) / BATCHES) / (path / BATCHES);
}

static void test_margins(void **state)
{
	double path_s;

	(void)state;
	add_series(BATCHES, 0.1);
	build(CPA_GRAPH_NODES);
	path_s = profile->program.critical_path_s;
	assert_int_equal(profile->program.windows, BATCHES + 1);
	assert_int_equal(profile->program.batches, BATCHES);
	assert_near(find(EXAMPLE_WORK)->critical_path_margin_s, path_s * slow_margin(work_s, 0.1));
	assert_near(find(EXAMPLE_WORK)->saved_margin_s, path_s * slow_margin(work_s, 0.1));
	assert_near(find(EXAMPLE_KERNEL)->saved_margin_s, path_s * slow_margin(kernel_s, 0.1));
	/* Every window has as much work. */
	assert_true(profile->program.parallelism_margin < 1e-9);
	assert_true(profile->program.wait_margin_s > 0);
}

/* The locks of the example's pool, but for the last; each class has its slot for itself. */
static void add_array(void)
{
	const struct cpa_component lock = { .kind = CPA_LOCK,
					    .by = CPA_BY_VARIABLE,
					    .address = (uintptr_t)&example_pool.queue[0].lock,
					    .module = 1,
					    .slot = EXAMPLE_WHOLE + 1,
					    .object_kind = CPA_MUTEX,
					    .retired_objects = 1 };

	maker_add_class(&maker, lock);
	for (uint32_t row = 1; row <= maker.rows[CPA_TABLE_COMPONENTS]; row++) {
		struct cpa_component *class = dump_maker_at(&maker, CPA_TABLE_COMPONENTS, row);

		class->first = class->slot;
	}
}

/* A process of all threads. */
static void add_process(void)
{
	const struct cpa_process_row row = { .key = 1, .state = CPA_PROCESS_ENDED };

	dump_maker_row(&maker, CPA_TABLE_PROCESSES, &row);
	for (uint32_t number = 1; number <= maker.rows[CPA_TABLE_THREADS]; number++) {
		struct cpa_thread *thread = dump_maker_at(&maker, CPA_TABLE_THREADS, number);

		thread->process_row = 1;
		thread->process_key = 1;
	}
}

/*
 * Of 50 ms each window has 20 or 40 ms of a time, in turn: of one thread, of two locks together, of a
 * component, and of the path.
 */
static uint64_t has_in_turn(unsigned i, size_t place)
{
	const double turn_s = i % 2 ? 0.04 : 0.02;

	switch (place) {
	case CPA_WINDOW_ON:
		return MAKER_TICKS(0.05);
	case CPA_WINDOW_LEN:
	case WINDOW_PLACE(CPA_WINDOW_TOTAL, EXAMPLE_WORK):
	case WINDOW_ROW(CPA_WINDOW_THREAD_CPU, 1):
		return MAKER_TICKS(turn_s);
	case WINDOW_PLACE(CPA_WINDOW_WAITED, EXAMPLE_POOL):
		return MAKER_TICKS(turn_s / 4);
	case WINDOW_PLACE(CPA_WINDOW_WAITED, EXAMPLE_WHOLE + 1):
		return MAKER_TICKS(turn_s * 3 / 4);
	default:
		return 0;
	}
}

/*
 * The mean is 30 ms; each of 20 batches is 10 ms off: t is 2.093, the standard error of the mean
 * 10 ms / sqrt(19) = 2.294 ms, the half of its interval 4.802 ms of 50 ms, of the 10 s profiled 0.9603 s.
 */
static void test_by_hand(void **state)
{
	const double margin_s = 0.9603;

	(void)state;
	add_array();
	add_process();
	dump_maker_windows(&maker, BATCHES, has_in_turn);
	build(CPA_GRAPH_NODES);
	assert_near(profile->program.wall_s, 10);
	assert_near(profile->program.critical_path_margin_s, margin_s);
	assert_near(profile->program.cpu_margin_s, margin_s);
	assert_near(profile->program.utilization_margin, margin_s / 10 / 2);
	assert_near(profile->thread[0].cpu_margin_s, margin_s);
	assert_near(profile->process[0].cpu_margin_s, margin_s);
	assert_near(find(EXAMPLE_WORK)->total_margin_s, margin_s);
	assert_int_equal(profile->lock_arrays->arrays, 1);
	assert_near(profile->lock_arrays->array[0].wait_margin_s, margin_s);
	/* No batch has any of these. */
	assert_true(isnan(profile->process[0].wait_margin_s));
	assert_true(isnan(profile->lock_arrays->array[0].hold_margin_s));
	assert_true(isnan(find(EXAMPLE_KERNEL)->total_margin_s));
}

/* Each window has some of everything, not always as much. */
static uint64_t has_all(unsigned i, size_t place)
{
	return MAKER_TICKS(0.001 * (double)(1 + (i * i + place) % 5));
}

/* Rows of the table with a known figure have this margin. */
static const struct {
	const char *table, *known, *margin;
} wanted[] = {
	{ "components", "total_s", "total_margin_s" },
	{ "components", "critical_path_s", "critical_path_margin_s" },
	{ "components", "saved_s", "saved_margin_s" },
	{ "components", "inclusive_saved_s", "inclusive_saved_margin_s" },
	{ "components", "inclusive_critical_path_s", "inclusive_critical_path_margin_s" },
	{ "objects", "wait_s", "wait_margin_s" },
	{ "objects", "hold_s", "hold_margin_s" },
	{ "objects", "saved_s", "saved_margin_s" },
	{ "objects", "critical_path_s", "critical_path_margin_s" },
	{ "lock_arrays", "wait_s", "wait_margin_s" },
	{ "lock_arrays", "hold_s", "hold_margin_s" },
	/* A queue without a slot has no sums of its own. */
	{ "queues", "saved_s", "item_wait_margin_s" },
	{ "queues", "saved_s", "saved_margin_s" },
	{ "queues", "critical_path_s", "critical_path_margin_s" },
	{ "streams", "reader_wait_s", "reader_wait_margin_s" },
	{ "streams", "writer_wait_s", "writer_wait_margin_s" },
	{ "streams", "from_critical_path_s", "from_critical_path_margin_s" },
	{ "streams", "to_critical_path_s", "to_critical_path_margin_s" },
	{ "threads", "cpu_s", "cpu_margin_s" },
	{ "threads", "wait_s", "wait_margin_s" },
	{ "processes", "cpu_s", "cpu_margin_s" },
	{ "processes", "wait_s", "wait_margin_s" },
};

static void assert_margins(const json_t *root, bool has_windows)
{
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		const json_t *rows = json_object_get(root, wanted[i].table), *row;
		size_t index, known = 0;

		json_array_foreach(rows, index, row) {
			bool has = json_object_get(row, wanted[i].margin) != NULL;
			bool should = json_is_real(json_object_get(row, wanted[i].known));

			known += should;
			if (has != (should && has_windows))
				fail_msg("row %zu of %s: %s is%s there", index, wanted[i].table,
					 wanted[i].margin, has ? "" : " not");
		}
		if (!known)
			fail_msg("no row of %s has %s", wanted[i].table, wanted[i].known);
	}
}

/* The example with a row in each table; its worker is also idle, for a second. */
static void add_tables(void)
{
	const struct cpa_stream pipe = { .key = 1,
					 .kind = CPA_STREAM_PIPE,
					 .records = 1,
					 .reads = 1,
					 .waiting = 1,
					 .blocking = 1,
					 .writer = { 3 },
					 .reader = { 4 } };
	const struct cpa_component idle = { .kind = CPA_EXTERNAL,
					    .by = CPA_BY_EXTERNAL,
					    .address = CPA_EXT_ACCEPT,
					    .slot = EXAMPLE_WHOLE + 2 };
	struct cpa_thread *worker;

	dump_maker_queues(&maker);
	dump_maker_row(&maker, CPA_TABLE_STREAMS, &pipe);
	maker_add_class(&maker, idle);
	add_array();
	add_process();
	worker = dump_maker_at(&maker, CPA_TABLE_THREADS, 2);
	worker->external += MAKER_TICKS(1);
	((uint64_t *)(maker.bytes + worker->totals))[EXAMPLE_WHOLE + 2] = MAKER_TICKS(1);
}

static void test_each_table(void **state)
{
	static const char *const keys[] = {
		"wait_margin_s",      "parallelism_margin",	"max_parallelism_margin",
		"utilization_margin", "critical_path_margin_s", "cpu_margin_s",
		"service_margin_s",   "idle_margin_s",
	};
	json_t *root;

	(void)state;
	add_tables();
	build(CPA_GRAPH_NODES);
	root = cpa_json_profile(profile);
	assert_null(json_object_get(root, "windows"));
	assert_margins(root, false);
	json_decref(root);
	cpa_profile_free(profile);
	cpa_dump_close(&dump);
	dump_maker_windows(&maker, BATCHES, has_all);
	build(CPA_GRAPH_NODES);
	root = cpa_json_profile(profile);
	assert_margins(root, true);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		assert_true(
			json_is_real(json_object_get(json_object_get(root, "windows"), keys[i])));
	json_decref(root);
}

/* How many columns +- the table below @heading has in @text. */
static unsigned signs_below(const char *text, const char *heading)
{
	const char *head = strstr(text, heading), *end;
	unsigned signs = 0;

	if (!head)
		fail_msg("no table \"%s\"", heading);
	head = strchr(head, '\n') + 1;
	end = strchr(head, '\n');
	while ((head = strstr(head, "+-")) && head++ < end)
		signs++;
	return signs;
}

static char *shown;

static void show(enum cpa_level level)
{
	size_t size;
	struct cpa_page page = { .out = open_memstream(&shown, &size), .width = 200 };

	cpa_text_write(profile, &page, level, SIZE_MAX);
	fclose(page.out);
}

static void test_columns(void **state)
{
	static const struct {
		enum cpa_level level;
		const char *heading;
		unsigned signs;
	} tables[] = {
		{ CPA_LEVEL_COMPONENT, "What the run would gain", 2 },
		{ CPA_LEVEL_COMPONENT, "Idle time and waits", 1 },
		{ CPA_LEVEL_COMPONENT, "Procedures of the", 3 },
		{ CPA_LEVEL_OBJECT, "Locks and other objects", 2 },
		{ CPA_LEVEL_OBJECT, "Arrays of locks", 1 },
		{ CPA_LEVEL_QUEUE, "Queues, and", 2 },
		{ CPA_LEVEL_STREAM, "Streams: who writes", 3 },
		{ CPA_LEVEL_THREAD, "Threads\n", 2 },
		{ CPA_LEVEL_PROCESS, "Processes\n", 2 },
	};

	(void)state;
	add_tables();
	for (unsigned windows = 0; windows <= BATCHES; windows += BATCHES) {
		if (windows)
			dump_maker_windows(&maker, windows, has_all);
		build(CPA_GRAPH_NODES);
		for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
			show(tables[i].level);
			assert_int_equal(signs_below(shown, tables[i].heading),
					 windows ? tables[i].signs : 0);
			free(shown);
		}
		if (!windows) {
			cpa_profile_free(profile);
			cpa_dump_close(&dump);
		}
	}
}

static void assert_none(void)
{
	assert_int_equal(profile->program.batches, 0);
	assert_true(isnan(profile->program.parallelism_margin));
	for (size_t i = 0; i < profile->components; i++)
		assert_true(isnan(profile->component[i].saved_margin_s));
	assert_null(cpa_rivals_sentence(profile));
}

static void test_few_windows(void **state)
{
	(void)state;
	add_series(9, 0.1);
	build(CPA_GRAPH_NODES);
	assert_int_equal(profile->program.windows, 10);
	assert_none();
}

static void test_no_windows(void **state)
{
	(void)state;
	build(CPA_GRAPH_NODES);
	assert_int_equal(profile->program.windows, 0);
	assert_none();
}

enum damage { ODD, SAMPLES, SLOTS, LEVEL, OFFSET, CUT, DAMAGES };

static void test_damage(void **state)
{
	(void)state;
	for (enum damage d = 0; d < DAMAGES; d++) {
		struct cpa_window_series *series = add_series(BATCHES, 0.1);

		if (d == ODD)
			series->writing = 7;
		else if (d == SAMPLES)
			series->samples = UINT32_MAX;
		else if (d == SLOTS)
			series->slots = 3;
		else if (d == LEVEL)
			series->level = 64;
		else if (d == OFFSET)
			dump_maker_header(&maker)->windows = UINT64_MAX - 8;
		else
			dump_maker_header(&maker)->windows += 4096;
		build(CPA_GRAPH_NODES);
		assert_none();
		teardown(NULL);
		dump_maker_example(&maker);
	}
}

/* Sums of a damaged series may shrink. */
static void test_nonsense(void **state)
{
	struct cpa_window_series *series = add_series(BATCHES, 0.1);

	(void)state;
	for (size_t i = 0; i < (BATCHES + 1) * WINDOW_LENGTH; i++)
		series->value[i] = UINT64_MAX / (1 + i * i % 97);
	build(CPA_GRAPH_NODES);
	free(cpa_rivals_sentence(profile));
}

/* How the savings of the functions differ from window to window decides how many more it takes. */
/* What the samples of all functions add to the margin of what @c saves, seconds. */
static double sampled_s(const struct cpa_component_figures *c)
{
	double path_s, total_s, margin_s;

	slow_functions(profile, &total_s, &path_s);
	margin_s = slow_sampled(c->critical_path_s, path_s,
				(double)profile->diagnostics.samples * fmin(1, path_s / total_s));
	return margin_s * c->saved_s / c->critical_path_s;
}

static void test_rivals(void **state)
{
	const struct cpa_component_figures *one, *two;
	double margin = slow_margin(work_s, 0.2) + slow_margin(kernel_s, 0.2), ratio;
	struct cpa_thread *row = dump_maker_at(&maker, CPA_TABLE_THREADS, 1);
	char *text;

	(void)state;
	/* Of the whole run, they save 3 s and 2 s. */
	row->path.delta[3] = maker_delta(EXAMPLE_KERNEL, 2);
	/* One has the more when the other has the less: the margins add up. */
	add_series(BATCHES, 0.2);
	build(CPA_GRAPH_NODES);
	one = find(EXAMPLE_WORK);
	two = find(EXAMPLE_KERNEL);
	margin = hypot(profile->program.critical_path_s * margin,
		       hypot(sampled_s(one), sampled_s(two)));
	ratio = margin / (one->saved_s - two->saved_s);
	assert_near(one->saved_s, 3);
	assert_near(two->saved_s, 2);
	assert_true(ratio > 1);
	assert_non_null(profile->rivals.first);
	assert_near(profile->rivals.windows, ceil((BATCHES + 1) * (ratio * ratio - 1)));
	text = cpa_rivals_sentence(profile);
	assert_non_null(text);
	assert_non_null(strstr(text, "more windows would tell them apart"));
	free(text);
}

static void test_no_rivals(void **state)
{
	struct cpa_thread *row = dump_maker_at(&maker, CPA_TABLE_THREADS, 1);

	(void)state;
	row->path.delta[3] = maker_delta(EXAMPLE_KERNEL, 2);
	add_series(BATCHES, 0.001);
	build(CPA_GRAPH_NODES);
	assert_null(profile->rivals.first);
	assert_null(cpa_rivals_sentence(profile));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_margins),   TEST(test_few_windows), TEST(test_no_windows),
		TEST(test_damage),    TEST(test_nonsense),    TEST(test_rivals),
		TEST(test_no_rivals), TEST(test_by_hand),     TEST(test_each_table),
		TEST(test_columns),
	};

	return cmocka_run_group_tests(tests, dump_maker_file, dump_maker_unlink);
}
