/* SPDX-License-Identifier: MIT */
/* tests/unit/test_report_processes.c - processes, their metrics, and invalid rows */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/metrics/metrics.h"
#include "analysis/profile/processes.h"
#include "analysis/render/text.h"
#include "tests/unit/dump_queues.h"
#include "tests/unit/made_profile.h"

static int setup(void **state)
{
	(void)state;
	dump_maker_start(&maker);
	return 0;
}

static void add(uint64_t key, uint32_t state, uint64_t process, uint64_t end)
{
	struct cpa_process_row row = {
		.key = key,
		.state = state,
		.pid = (uint32_t)(1000 + key),
		.parent_key = key > 1,
		.images = 1,
		.threads = 1,
		.end_ticks = end,
		.count = state == CPA_PROCESS_SUM ? 17 : 0,
		.sums = { .process = process, .wait = 2 * process },
	};

	dump_maker_row(&maker, CPA_TABLE_PROCESSES, &row);
}

/* Each process with its sums; rows in use only. */
static void test_rows(void **state)
{
	(void)state;
	add(1, CPA_PROCESS_RUNNING, 1000, 0);
	add(2, CPA_PROCESS_ENDED, 2000, 5);
	add(3, CPA_PROCESS_FREE, 4000, 0);
	add(4, CPA_PROCESS_SUM, 8000, 7);
	build(CPA_GRAPH_ALL);
	assert_int_equal(profile->processes, 3);
	assert_int_equal(profile->process[0].pid, 1001);
	assert_int_equal(profile->process[0].ending, CPA_ENDING_NONE);
	assert_int_equal(profile->process[1].ending, CPA_ENDING_SEEN);
	assert_int_equal(profile->process[1].parent, 1);
	assert_true(profile->process[1].process_s > 1.9 * profile->process[0].process_s);
	assert_true(profile->process[1].wait_s > 1.9 * profile->process[1].process_s);
	assert_int_equal(profile->process[2].count, 17);
}

/* A sum of processes has no pid, also where there is one in it. */
static void test_sum_of_one(void **state)
{
	const struct cpa_process_row sum = {
		.key = 1, .state = CPA_PROCESS_SUM, .count = 1, .sums = { .process = 1000 }
	};
	char *text = NULL;
	size_t size;
	struct cpa_page page = { .out = open_memstream(&text, &size), .width = 80 };

	(void)state;
	dump_maker_row(&maker, CPA_TABLE_PROCESSES, &sum);
	build(CPA_GRAPH_ALL);
	cpa_text_write(profile, &page, CPA_LEVEL_PROCESS, 10);
	fclose(page.out);
	assert_non_null(strstr(text, "\n1 more "));
	free(text);
}

/* How long before its end a process that was killed had its last event, if that is long. */
static void test_killed(void **state)
{
	struct cpa_process_row rows[] = {
		{ .key = 1, .state = CPA_PROCESS_ENDED, .pid = 1001, .threads = 1, .images = 1 },
		{ .key = 2,
		  .state = CPA_PROCESS_GONE,
		  .pid = 1002,
		  .threads = 2,
		  .images = 1,
		  .waited = 1,
		  .status = 9,
		  .end_ticks = MAKER_START + MAKER_TICKS(9) },
	};
	const struct cpa_thread thread = { .key = 1,
					   .state = CPA_THREAD_RUNNING,
					   .process_row = 2,
					   .process_key = 2,
					   .start_ticks = MAKER_START + MAKER_TICKS(1),
					   .path = { .released = MAKER_START + MAKER_TICKS(2) } };
	bool found = false;

	(void)state;
	dump_maker_row(&maker, CPA_TABLE_PROCESSES, &rows[0]);
	dump_maker_row(&maker, CPA_TABLE_PROCESSES, &rows[1]);
	dump_maker_row(&maker, CPA_TABLE_THREADS, &thread);
	build(CPA_GRAPH_ALL);
	for (size_t i = 0; i < profile->diagnostics.notes; i++)
		found |=
			strcmp(profile->diagnostics.note[i],
			       "The last event of process 1002 (?, killed) was 7.000 s before its end: what "
			       "it did then, work or not, is in no figure.") == 0;
	assert_true(found);
	assert_ptr_equal(profile->diagnostics.lost, &profile->process[1]);
}

static void add_command(uint64_t key, uint32_t name, const char *argument, uint32_t state)
{
	struct cpa_process_row row = { .key = key, .state = state, .name = name, .count = 3 };

	snprintf(row.argument, sizeof(row.argument), "%s", argument);
	dump_maker_row(&maker, CPA_TABLE_PROCESSES, &row);
}

/* The first argument is shown where it differs among processes of the command, however long it is. */
static void test_titles(void **state)
{
	static const char *const wanted[] = { "git clone", "git index-pack", "git",
					      "git",	   "sort",	     "sort" };
	uint32_t git = maker_add_name(&maker, "git"), sort = maker_add_name(&maker, "sort");
	uint32_t cc = maker_add_name(&maker, "cc");

	(void)state;
	add_command(1, git, "clone", CPA_PROCESS_RUNNING);
	add_command(2, git, "index-pack", CPA_PROCESS_ENDED);
	add_command(3, git, "", CPA_PROCESS_ENDED);
	add_command(4, git, "", CPA_PROCESS_SUM);
	add_command(5, sort, "file", CPA_PROCESS_ENDED);
	add_command(6, sort, "file", CPA_PROCESS_ENDED);
	add_command(7, cc, "x2345678901234567890123456789.c", CPA_PROCESS_ENDED);
	add_command(8, cc, "", CPA_PROCESS_FREE);
	add_command(9, cc, "y.c", CPA_PROCESS_ENDED);
	build(CPA_GRAPH_ALL);
	assert_int_equal(profile->processes, 8);
	for (size_t i = 0; i < 6; i++) {
		char *title = cpa_process_title(&profile->process[i]);

		assert_string_equal(title, wanted[i]);
		free(title);
	}
	assert_string_equal(profile->process[6].argument, "x2345678901234567890123456789.c");
	assert_string_equal(profile->process[7].argument, "y.c");
}

static void add_thread(uint32_t process, uint64_t key, uint64_t events)
{
	struct cpa_thread thread = { .key = key,
				     .state = CPA_THREAD_EXITED,
				     .process_row = process,
				     .process_key = process,
				     .events = events,
				     .bytes_read = 3 * events };

	dump_maker_row(&maker, CPA_TABLE_THREADS, &thread);
}

/*
 * Each process has its own metrics; a sum of processes has no time, and a process without thread
 * rows no events.
 */
static void test_metrics(void **state)
{
	struct cpa_metrics *metrics;
	const struct cpa_metric_row *row;

	(void)state;
	add(1, CPA_PROCESS_RUNNING, MAKER_TICKS(1), 0);
	add(2, CPA_PROCESS_ENDED, MAKER_TICKS(2), MAKER_START + MAKER_TICKS(4));
	add(3, CPA_PROCESS_SUM, MAKER_TICKS(8), 7);
	add_thread(2, 1, 20);
	build(CPA_GRAPH_ALL);
	metrics = cpa_metrics_build(profile);
	row = metrics->row[CPA_AT_PROCESS];
	assert_true(metrics->row[CPA_AT_MACHINE][0].value[CPA_METRIC_PROCESSES] == 19);
	assert_int_equal(metrics->rows[CPA_AT_PROCESS], 3);
	assert_string_equal(row[0].name, "?, 17 processes");
	assert_true(fabs(row[0].value[CPA_METRIC_CPU] - 8) < 1e-9);
	assert_true(isnan(row[0].value[CPA_METRIC_TIME]));
	assert_true(isnan(row[0].value[CPA_METRIC_PARALLELISM]));
	assert_int_equal(row[1].id, 1002);
	assert_true(fabs(row[1].value[CPA_METRIC_TIME] - 4) < 1e-9);
	assert_true(fabs(row[1].value[CPA_METRIC_PARALLELISM] - 0.5) < 1e-9);
	assert_true(fabs(row[1].value[CPA_METRIC_PROGRESS] - 0.5) < 1e-9);
	assert_true(fabs(row[1].value[CPA_METRIC_OPERATIONS] - 5) < 1e-9);
	assert_true(fabs(row[1].value[CPA_METRIC_BYTES] - 15) < 1e-9);
	assert_true(fabs(row[2].value[CPA_METRIC_TIME] - 10) < 1e-9);
	assert_true(isnan(row[2].value[CPA_METRIC_OPERATIONS]));
	assert_null(cpa_histogram_build(profile, metrics, CPA_METRIC_CPU, CPA_AT_PROCESS));
	cpa_metrics_free(metrics);
}

/* Invalid states, names and threads; no process has them. */
static void test_lies(void **state)
{
	struct cpa_process_row row = { .key = 1,
				       .state = UINT32_MAX,
				       .name = UINT32_MAX,
				       .parent = UINT32_MAX,
				       .exit_thread = UINT32_MAX };
	struct cpa_thread thread = { .key = 1,
				     .state = CPA_THREAD_RUNNING,
				     .process_row = UINT32_MAX,
				     .process_key = 1,
				     .given = { .process = UINT64_MAX } };

	(void)state;
	dump_maker_row(&maker, CPA_TABLE_PROCESSES, &row);
	row.state = CPA_PROCESS_ENDED;
	dump_maker_row(&maker, CPA_TABLE_PROCESSES, &row);
	dump_maker_row(&maker, CPA_TABLE_THREADS, &thread);
	thread.process_row = 2;
	dump_maker_row(&maker, CPA_TABLE_THREADS, &thread);
	build(CPA_GRAPH_ALL);
	assert_int_equal(profile->processes, 1);
	assert_string_equal(profile->process[0].name, "?");
	assert_true(profile->process[0].cpu_s == 0);
	assert_int_equal(dump.broken[CPA_TABLE_PROCESSES], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sum_of_one, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_titles, setup, teardown),
		cmocka_unit_test_setup_teardown(test_metrics, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lies, setup, teardown),
	};

	return cmocka_run_group_tests(tests, dump_maker_file, dump_maker_unlink);
}
