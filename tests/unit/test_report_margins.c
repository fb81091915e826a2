/* SPDX-License-Identifier: MIT */
/* tests/unit/test_report_margins.c - margins from a series of windows, intact and damaged; two rivals */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/verdict/rivals.h"
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
	ratio = profile->program.critical_path_s * margin / (one->saved_s - two->saved_s);
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
		TEST(test_no_rivals),
	};

	return cmocka_run_group_tests(tests, dump_maker_file, dump_maker_unlink);
}
