/* SPDX-License-Identifier: MIT */
/* tests/unit/test_report_profile.c - the example's figures, finished and not, intact and damaged */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/made_profile.h"
#include "analysis/profile/components.h"
#include "analysis/profile/objects.h"
#include "analysis/profile/pag.h"
#include "analysis/profile/threads.h"

static int setup(void **state)
{
	(void)state;
	dump_maker_example(&maker);
	return 0;
}

#define assert_seconds(got, expected)                                                       \
	do {                                                                                \
		if (!(fabs((got) - (expected)) < 1e-9))                                     \
			fail_msg("%s: %.9f, expected %.9f", #got, got, (double)(expected)); \
	} while (0)

static const struct cpa_component_figures *find(enum cpa_component_kind kind, const char *name)
{
	for (size_t i = 0; i < profile->components; i++)
		if (profile->component[i].kind == kind &&
		    strcmp(profile->component[i].name, name) == 0)
			return &profile->component[i];
	fail_msg("no component %s", name);
	return NULL;
}

static bool has_note(const char *words)
{
	for (size_t i = 0; i < profile->diagnostics.notes; i++)
		if (strstr(profile->diagnostics.note[i], words))
			return true;
	return false;
}

static void test_program(void **state)
{
	const struct cpa_program_figures *program;

	(void)state;
	build(CPA_GRAPH_ALL);
	program = &profile->program;
	assert_string_equal(program->exe, "/usr/bin/example");
	assert_string_equal(program->name, "example");
	assert_true(program->complete);
	assert_int_equal(program->cores, 2);
	assert_seconds(program->wall_s, 10);
	assert_seconds(program->cpu_s, 12.75);
	assert_seconds(program->external_s, 1);
	assert_seconds(program->critical_path_s, 8);
	assert_seconds(program->observed_path_s, 10);
	assert_seconds(program->segment_s[CPA_TIME_PROCESS], 7);
	assert_seconds(program->segment_s[CPA_TIME_EXTERNAL], 1);
	assert_seconds(program->segment_s[CPA_TIME_RUNQUEUE], 0.5);
	assert_seconds(program->segment_s[CPA_TIME_HANDOFF], 1);
	assert_seconds(program->segment_s[CPA_TIME_PROBE], 0.5);
	assert_seconds(program->parallelism, 12.0 / 10);
	assert_seconds(program->max_parallelism, 13.0 / 8);
	assert_seconds(program->utilization, 0.6375);
}

/* The loader's time from before the run is CPU time of the thread, but no use of processors in the run. */
static void test_before_the_run(void **state)
{
	struct cpa_thread *thread = dump_maker_at(&maker, CPA_TABLE_THREADS, 1);

	(void)state;
	thread->before += MAKER_TICKS(30);
	build(CPA_GRAPH_ALL);
	assert_seconds(profile->program.cpu_s, 42.75);
	assert_true(profile->program.utilization >= 0.6375);
	assert_true(profile->program.utilization <= 1);
}

static void expect_component(enum cpa_component_kind kind, const char *name, double total_s,
			     double path_s, double observed_s, double saved_s)
{
	const struct cpa_component_figures *component = find(kind, name);

	assert_seconds(component->total_s, total_s);
	assert_seconds(component->critical_path_s, path_s);
	assert_seconds(component->observed_path_s, observed_s);
	assert_seconds(component->saved_s, saved_s);
}

static void test_components(void **state)
{
	(void)state;
	build(CPA_GRAPH_ALL);
	expect_component(CPA_FUNCTION, "example_work", 5, 3, 3, 3);
	expect_component(CPA_LOCK, "example_pool.queue[1].lock", 2, 2, 2, 2);
	/* The worker's path is only 2 s shorter than main's. */
	expect_component(CPA_THREAD, "main", 7, 6, 6, 2);
	expect_component(CPA_THREAD, "example_worker", 5, 0, 0, 0);
	expect_component(CPA_EXTERNAL, "sleep", 1, 0, 0, 0);
	expect_component(CPA_FUNCTION, "(not sampled)", 0.5, 0, 0, 0);
	expect_component(CPA_FUNCTION, "(kernel)", 0, 0, 0, 0);
	assert_int_equal(profile->components, 8); /* and the two locks of one slot */
	assert_string_equal(profile->component[0].name, "example_work");
}

static void test_components_that_share_a_slot(void **state)
{
	const struct cpa_component_figures *component;

	(void)state;
	build(CPA_GRAPH_ALL);
	component = find(CPA_LOCK, "spin lock from example_work, condition first used in "
				   "example_worker");
	assert_true(component->shared);
	assert_null(component->location);
	assert_false(find(CPA_FUNCTION, "example_work")->shared);
}

static void test_threads(void **state)
{
	(void)state;
	build(CPA_GRAPH_ALL);
	assert_int_equal(profile->threads, 2);
	assert_int_equal(profile->thread[0].tid, 4711);
	assert_string_equal(profile->thread[0].name, "example");
	assert_string_equal(profile->thread[0].start_routine, "main");
	assert_seconds(profile->thread[0].cpu_s, 7.75);
	assert_seconds(profile->thread[0].wait_s, 2);
	assert_seconds(profile->thread[0].runqueue_s, 0.5);
	assert_seconds(profile->thread[0].probe_s, 0.5);
	assert_seconds(profile->thread[0].critical_path_s, 8);
	assert_string_equal(profile->thread[1].name, "worker ?[2J");
	assert_string_equal(profile->thread[1].start_routine, "example_worker");
	assert_seconds(profile->thread[1].external_s, 1);
}

static void test_objects(void **state)
{
	const struct cpa_object_figures *object;

	(void)state;
	build(CPA_GRAPH_ALL);
	assert_int_equal(profile->objects, 1);
	object = profile->object;
	assert_string_equal(object->kind, "mutex");
	assert_string_equal(object->class, "example_pool.queue[1].lock");
	assert_int_equal(object->objects, 3);
	assert_int_equal(object->acquisitions, 160);
	assert_int_equal(object->contended, 50);
	assert_int_equal(object->handoffs, 25);
	assert_seconds(object->wait_s, 1.75);
	assert_seconds(object->hold_s, 3);
	assert_true(object->has_slot);
	assert_seconds(object->saved_s, 2);
}

/* A lock never released is held up to the end; a time outside the run is damage. */
static void test_held_at_the_end(void **state)
{
	struct cpa_object *objects = dump_maker_at(&maker, CPA_TABLE_OBJECTS, 1);
	const struct cpa_header *header = dump_maker_header(&maker);

	(void)state;
	objects[0].holder = 1;
	objects[0].since = header->end_ticks - MAKER_TICKS(1.5);
	objects[1].holder = 1;
	objects[1].since = header->end_ticks + 1;
	build(CPA_GRAPH_ALL);
	assert_seconds(profile->object[0].hold_s, 4.5);
}

static void test_pag(void **state)
{
	(void)state;
	build(CPA_GRAPH_ALL);
	assert_int_equal(profile->nodes, 3);
	assert_string_equal(profile->node[1].kind, "lock");
	assert_string_equal(profile->node[1].site, "example_worker");
	assert_string_equal(profile->node[1].class, "example_pool.queue[1].lock");
	assert_null(profile->node[0].site);
	assert_int_equal(profile->edges, 2);
	assert_false(profile->edge[0].dependency);
	assert_int_equal(profile->edge[0].count, 15); /* of them 5 in a thread's cache */
	assert_seconds(profile->edge[0].weight_s, 3);
	assert_true(profile->edge[0].own_slot);
	/* The path has 1.5 s of the 2 s that were noted. */
	assert_seconds(profile->edge[0].on_path_s, 2.25);
	assert_int_equal(profile->edge[0].functions, 2);
	assert_string_equal(profile->edge[0].function[0].function, "example_work");
	assert_seconds(profile->edge[0].function[0].share, 0.75);
	assert_true(profile->edge[1].dependency);
	assert_false(profile->edge[1].own_slot);
	assert_int_equal(profile->edge[1].followed, 6);
}

static void test_diagnostics(void **state)
{
	(void)state;
	build(CPA_GRAPH_ALL);
	assert_string_equal(profile->diagnostics.clock, "rseq");
	assert_seconds(profile->diagnostics.probe_s, 0.5);
	assert_int_equal(profile->diagnostics.samples, 3000);
	assert_int_equal(profile->diagnostics.samples_lost, 3);
	assert_int_equal(profile->diagnostics.notes, 1);
	assert_true(has_note("Samples lost: 3."));
}

/* A killed program: the state at its latest event. */
static void test_unfinished(void **state)
{
	struct cpa_header *header = dump_maker_header(&maker);
	struct cpa_thread *worker = dump_maker_at(&maker, CPA_TABLE_THREADS, 2);

	(void)state;
	header->state = CPA_RUNNING;
	header->end_ticks = 0;
	header->exit_thread = 0;
	worker->path.released = MAKER_START + MAKER_TICKS(11);
	build(CPA_GRAPH_ALL);
	assert_false(profile->program.complete);
	assert_seconds(profile->program.wall_s, 11);
	assert_seconds(profile->program.critical_path_s, 8);
	assert_seconds(profile->program.observed_path_s, 6);
	assert_true(has_note("shorter than the run"));
}

/* Killed between adding an activity's times and moving its clock. */
static void test_died_inside_an_event(void **state)
{
	struct cpa_thread *main = dump_maker_at(&maker, CPA_TABLE_THREADS, 1);

	(void)state;
	dump_maker_header(&maker)->state = CPA_RUNNING;
	dump_maker_header(&maker)->end_ticks = 0;
	main->path.observed[CPA_TIME_PROCESS] += MAKER_TICKS(2);
	build(CPA_GRAPH_ALL);
	assert_seconds(profile->program.wall_s, 12);
	assert_seconds(profile->program.observed_path_s, 12);
	assert_false(has_note("than the run"));
}

/* Killed behind a wait of 3 s, before the event that ends it. */
static void test_died_behind_a_wait(void **state)
{
	struct cpa_thread *worker = dump_maker_at(&maker, CPA_TABLE_THREADS, 2);
	uint64_t rest = worker->process + worker->external + worker->runqueue + worker->probe;

	(void)state;
	dump_maker_header(&maker)->state = CPA_RUNNING;
	dump_maker_header(&maker)->end_ticks = 0;
	worker->end_ticks = 0;
	worker->wait = MAKER_TICKS(1.5);
	worker->path.released = worker->start_ticks + rest + worker->wait;
	worker->wait += MAKER_TICKS(3);
	build(CPA_GRAPH_ALL);
	assert_seconds(profile->thread[1].wait_s, 1.5);
}

/* A thread of which all time is of @kind, but for @blocked seconds, ends its path at clock @end. */
static void set_path(struct cpa_thread *row, enum cpa_time_kind kind, double blocked, uint64_t end)
{
	memset(row->path.observed, 0, sizeof(row->path.observed));
	row->path.observed[kind] = MAKER_TICKS(10 - blocked);
	row->path.observed[CPA_TIME_EXTERNAL] = MAKER_TICKS(blocked);
	row->path.released = end;
}

/*
 * Profiling was off at the end: the path is that of a thread that did not wait when the last part ended,
 * of the one that ended the run if it is such a thread, else of the one that was blocked least.
 */
static void test_off_at_the_end(void **state)
{
	struct cpa_header *header = dump_maker_header(&maker);
	struct cpa_thread *main = dump_maker_at(&maker, CPA_TABLE_THREADS, 1),
			  *worker = dump_maker_at(&maker, CPA_TABLE_THREADS, 2);
	const uint64_t end = MAKER_START + MAKER_TICKS(10);

	(void)state;
	header->first_epoch = 1;
	header->epoch = 2;
	header->border[1].ticks = MAKER_START;
	header->border[2].ticks = end;
	header->border[2].on = MAKER_TICKS(10);
	set_path(worker, CPA_TIME_PROCESS, 0, end);
	set_path(main, CPA_TIME_RUNQUEUE, 2, end);
	build(CPA_GRAPH_ALL);
	assert_seconds(profile->program.segment_s[CPA_TIME_RUNQUEUE], 8);
	set_path(main, CPA_TIME_RUNQUEUE, 2, end - MAKER_TICKS(2));
	build(CPA_GRAPH_ALL);
	assert_seconds(profile->program.segment_s[CPA_TIME_PROCESS], 10);
	header->exit_thread = 0;
	set_path(main, CPA_TIME_RUNQUEUE, 2, end);
	build(CPA_GRAPH_ALL);
	assert_seconds(profile->program.segment_s[CPA_TIME_PROCESS], 10);
}

/* Waits across borders of parts have no kind, so no component has them. */
static void test_borders(void **state)
{
	struct cpa_program_figures *program;
	struct cpa_header *header = dump_maker_header(&maker);
	struct cpa_thread *main = dump_maker_at(&maker, CPA_TABLE_THREADS, 1);

	(void)state;
	set_path(main, CPA_TIME_RUNQUEUE, 4, MAKER_START + MAKER_TICKS(10));
	build(CPA_GRAPH_ALL);
	program = &profile->program;
	assert_seconds(program->segment_border_s, 0);
	assert_seconds(program->border_s, 0);
	header->first_epoch = 1;
	header->epoch = 3;
	header->border[3].ticks = MAKER_START;
	header->diag[CPA_DIAG_PART_BLOCKED_TICKS] = MAKER_TICKS(12);
	build(CPA_GRAPH_ALL);
	program = &profile->program;
	assert_seconds(program->segment_border_s, 4);
	assert_seconds(program->segment_blocked_s[CPA_EXT_WAIT], 4);
	assert_seconds(program->border_s, 12);
	header->diag[CPA_DIAG_PART_BLOCKED_TICKS] = 0;
	build(CPA_GRAPH_ALL);
	assert_seconds(profile->program.border_s, 4);
}

static void test_exec(void **state)
{
	(void)state;
	dump_maker_header(&maker)->state = CPA_EXECED;
	build(CPA_GRAPH_ALL);
	assert_false(profile->program.complete);
	assert_seconds(profile->program.wall_s, 10);
	assert_true(has_note("exec"));
}

static void test_unknown_clock_rate(void **state)
{
	(void)state;
	dump_maker_header(&maker)->last_ticks = MAKER_START;
	build(CPA_GRAPH_ALL);
	assert_true(has_note("rate of the clock is not known"));
	assert_seconds(profile->program.wall_s, (double)MAKER_TICKS(10) * 1e-9);
}

/* The paths of earlier threads of a row count too. */
static void test_retired_paths_count(void **state)
{
	struct cpa_thread *worker = dump_maker_at(&maker, CPA_TABLE_THREADS, 2);

	(void)state;
	worker->retired = (struct cpa_path){ .len = MAKER_TICKS(9),
					     .delta = { maker_delta(EXAMPLE_SLEEP, 4) } };
	worker->earlier = 3;
	build(CPA_GRAPH_ALL);
	assert_seconds(profile->program.critical_path_s, 9);
	assert_seconds(find(CPA_EXTERNAL, "sleep")->critical_path_s, 4);
	assert_seconds(find(CPA_EXTERNAL, "sleep")->saved_s, 1);
	assert_int_equal(profile->thread[1].earlier, 3);
	assert_int_equal(profile->program.threads, 5);
}

/* Broken rows are left out and reported; the rest is kept. */
static void test_broken_rows(void **state)
{
	struct cpa_component *components = dump_maker_at(&maker, CPA_TABLE_COMPONENTS, 1);
	struct cpa_edge *edges = dump_maker_at(&maker, CPA_TABLE_EDGES, 1);
	struct cpa_node *nodes = dump_maker_at(&maker, CPA_TABLE_NODES, 1);
	struct cpa_object *objects = dump_maker_at(&maker, CPA_TABLE_OBJECTS, 1);
	struct cpa_thread *threads = dump_maker_at(&maker, CPA_TABLE_THREADS, 1);

	(void)state;
	components[0].slot = EXAMPLE_SLOTS;
	edges[0].to = 99;
	nodes[0].kind = CPA_EV_KINDS;
	objects[1].kind = 200;
	threads[1].path.version = 3;
	threads[0].totals = UINT64_MAX;
	threads[1].edges = UINT64_MAX - 7;
	build(CPA_GRAPH_ALL);
	assert_int_equal(dump.broken[CPA_TABLE_COMPONENTS], 1);
	assert_int_equal(dump.broken[CPA_TABLE_EDGES], 1);
	assert_int_equal(dump.broken[CPA_TABLE_NODES], 1);
	assert_int_equal(dump.broken[CPA_TABLE_OBJECTS], 1);
	assert_int_equal(dump.broken[CPA_TABLE_THREADS], 2);
	assert_int_equal(dump.broken_paths, 1);
	assert_true(has_note("Damaged or cut off component rows in the dump: 1"));
	assert_true(has_note("Damaged or cut off paths in the dump: 1"));
	assert_int_equal(profile->object[0].acquisitions, 110);
	assert_seconds(profile->program.critical_path_s, 8);
	assert_seconds(find(CPA_THREAD, "main")->saved_s, 6);
}

static void test_kernel_counted_more(void **state)
{
	(void)state;
	dump_maker_header(&maker)->cpu_end_ns = UINT64_C(20000000000);
	build(CPA_GRAPH_ALL);
	assert_true(has_note("The kernel counted 20.000 s of CPU time"));
}

/* Then nothing is missing. */
static void test_kernel_counted_less(void **state)
{
	(void)state;
	dump_maker_header(&maker)->cpu_end_ns = UINT64_C(1000000000);
	build(CPA_GRAPH_ALL);
	assert_true(has_note("The kernel counted 1.000 s of CPU time, less than the 12.750 s"));
	assert_false(has_note("missing"));
}

/* The kernel's sum of a command's processes lacks those that were killed. */
static void test_kernel_counted_not_all(void **state)
{
	const struct cpa_process_row first = { .key = 1, .state = CPA_PROCESS_ENDED };
	const struct cpa_process_row sum = { .key = 2,
					     .state = CPA_PROCESS_SUM,
					     .count = 5,
					     .cpu_ns = UINT64_C(1000000000),
					     .sums = { .process = MAKER_TICKS(3) } };

	(void)state;
	dump_maker_row(&maker, CPA_TABLE_PROCESSES, &first);
	dump_maker_row(&maker, CPA_TABLE_PROCESSES, &sum);
	dump_maker_header(&maker)->cpu_end_ns = UINT64_C(9750000000);
	build(CPA_GRAPH_ALL);
	assert_false(has_note("The kernel counted"));
}

static void test_empty_session(void **state)
{
	(void)state;
	dump_maker_free(&maker);
	dump_maker_start(&maker);
	build(CPA_GRAPH_ALL);
	assert_seconds(profile->program.parallelism, 0);
	assert_seconds(profile->program.max_parallelism, 0);
	assert_true(has_note("No thread recorded any figures"));
}

/* Moved by the search to a slot that other components had before. */
static void test_found(void **state)
{
	const struct cpa_base base = { .key = EXAMPLE_WORK,
				       .slack = MAKER_TICKS(0.25),
				       .share = MAKER_TICKS(0.5),
				       .observed = MAKER_TICKS(1),
				       .total = MAKER_TICKS(1.5),
				       .most = MAKER_TICKS(1.75) };
	const struct cpa_base broken = { .key = MAKER_SLOTS };
	const struct cpa_component_figures *found;
	struct cpa_component *row;

	(void)state;
	dump_maker_row(&maker, CPA_TABLE_BASES, &base);
	dump_maker_row(&maker, CPA_TABLE_BASES, &broken);
	row = dump_maker_at(&maker, CPA_TABLE_COMPONENTS, 1);
	row->since = MAKER_START + MAKER_TICKS(4);
	row->since_len = MAKER_TICKS(3);
	row->among = 12;
	row->earlier_count = 2;
	row->earlier[0] = EXAMPLE_POOL;
	row->earlier[1] = UINT16_MAX;
	build(CPA_GRAPH_ALL);
	expect_component(CPA_FUNCTION, "example_work", 3.5, 2.5, 2, 2.75);
	found = find(CPA_FUNCTION, "example_work");
	assert_int_equal(found->among, 12);
	assert_seconds(found->since_s, 4);
	assert_seconds(found->since_path_s, 3);
	assert_seconds(found->before_s, 2);
	assert_seconds(found->error_s, 1.75);
	assert_true(has_note("example_work shared a slot with others of 12 components"));
	assert_true(has_note("Damaged or cut off slot base rows in the dump: 1"));
	assert_int_equal(find(CPA_LOCK, "example_pool.queue[1].lock")->among, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_program),
		TEST(test_before_the_run),
		TEST(test_components),
		TEST(test_components_that_share_a_slot),
		TEST(test_threads),
		TEST(test_objects),
		TEST(test_held_at_the_end),
		TEST(test_pag),
		TEST(test_diagnostics),
		TEST(test_unfinished),
		TEST(test_died_inside_an_event),
		TEST(test_died_behind_a_wait),
		TEST(test_off_at_the_end),
		TEST(test_borders),
		TEST(test_exec),
		TEST(test_unknown_clock_rate),
		TEST(test_retired_paths_count),
		TEST(test_broken_rows),
		TEST(test_kernel_counted_more),
		TEST(test_kernel_counted_less),
		TEST(test_kernel_counted_not_all),
		TEST(test_empty_session),
		TEST(test_found),
	};

	return cmocka_run_group_tests(tests, dump_maker_file, dump_maker_unlink);
}
