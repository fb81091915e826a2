/* SPDX-License-Identifier: MIT */
/* tests/unit/test_doubts.c - which reasons to doubt a verdict follow from which figures */
#include "tests/unit/verdict_run.h"
#include "analysis/profile/components.h"
#include "analysis/profile/modules.h"
#include "analysis/profile/processes.h"

static void test_unseen(void **state)
{
	(void)state;
	add_external("blocked", CPA_EXT_WAIT, 6, 6);
	expect_kind("unseen");
	assert_string_equal(
		verdict.sentence,
		"What limits this program is not known: for 60.0% of the observed path "
		"(6.00 s) cpa did not see what threads waited for, most of it blocked: the "
		"critical path may be up to 2.00 s longer.");
	assert_null(verdict.doubt);
}

static void test_nothing_profiled(void **state)
{
	(void)state;
	profile.program.wall_s = profile.program.critical_path_s = profile.program.observed_path_s =
		0;
	profile.program.work_s = profile.program.cpu_s = 0;
	profile.program.segment_s[CPA_TIME_PROCESS] = 0;
	profile.program.run_s = 10;
	expect("unseen", "What limits this program is not known: nothing of the run was profiled.",
	       "Profile all of it, or begin a part (CPA_START(), cpa ctl) while it works.");
	assert_null(verdict.doubt);
}

static void expect_doubt(const char *text)
{
	cpa_verdict_fini(&verdict);
	cpa_verdict_init(&verdict, &profile);
	assert_non_null(verdict.doubt);
	assert_string_equal(verdict.doubt, text);
}

static void expect_no_doubt(void)
{
	cpa_verdict_fini(&verdict);
	cpa_verdict_init(&verdict, &profile);
	assert_null(verdict.doubt);
}

/* What came after the last event is in no figure; a program that was killed may have been idle then. */
static void test_doubts_of_end(void **state)
{
	(void)state;
	profile.program.complete = false;
	profile.program.waited = true;
	profile.program.run_s = 10;
	profile.program.end_s = 11;
	expect_no_doubt();
	profile.program.end_s = 15;
	expect_doubt("This may be off: the run went on for 5.00 s after the last event that cpa "
		     "saw, and what it did then is in no figure.");
	profile.program.end_s = 25;
	expect("unseen",
	       "What limits this program is not known: the run went on for 15.0 s after the last "
	       "event that cpa saw, and what it did then is in no figure.",
	       "It made its last system calls itself, as Go programs do, which cpa does not see: a "
	       "profiler that samples, such as perf, shows more.");
	profile.program.left_by_handler = true;
	expect("unseen",
	       "What limits this program is not known: the run went on for 15.0 s after the last "
	       "event that cpa saw, and what it did then is in no figure.",
	       "A signal handler jumped out of cpa's own code, which ends the profile of its thread: "
	       "profile the program once more, as that is a matter of microseconds.");
	profile.program.status = 9;
	expect_kind("work");
	assert_non_null(verdict.doubt);
	profile.program.complete = true;
	expect_no_doubt();
}

static void test_doubts_of_path(void **state)
{
	struct cpa_component_figures *external = add_external("in signal", CPA_EXT_WAIT, 2, 2);

	(void)state;
	add_thread(10, 1);
	threads[0].lived_s = 100;
	expect_doubt(
		"This may be off: for 20.0% of the observed path (2.00 s) cpa did not see what "
		"threads waited for, most of it in signal: the critical path may be up to 2.00 s "
		"longer.");
	external->observed_path_s = 0.9;
	expect_no_doubt();
	/* No path is longer than all work. */
	external->observed_path_s = 2;
	profile.program.work_s = 8.1;
	expect_doubt(
		"This may be off: for 20.0% of the observed path (2.00 s) cpa did not see what "
		"threads waited for, most of it in signal: the observed path may be off by as "
		"much.");
}

static void test_doubts_of_threads(void **state)
{
	static struct cpa_module_figures modules[] = { { .path = "/usr/lib/libtbb.so.12" } };
	struct cpa_component_figures *external = add_external("blocked", CPA_EXT_WAIT, 5, 0);
	struct cpa_component_figures *class = add(CPA_THREAD, "rml_loop", 0, 0);

	(void)state;
	profile.module = modules;
	profile.modules = 1;
	class->module = 1;
	add_thread(class->slot, 1);
	spend(CPA_EXTERNAL, external->slot, 4);
	threads[0].lived_s = 10;
	expect_doubt(
		"This may be off: for 50.0% of the threads' time (5.00 s) cpa did not see what "
		"threads waited for, most of it threads rml_loop of libtbb.so.12, blocked: the "
		"critical path may be up to 2.00 s longer.");
	threads[0].lived_s = 51;
	expect_no_doubt();
	/* What cannot change the path much is no reason to doubt it. */
	threads[0].lived_s = 10;
	profile.program.work_s = 8.1;
	expect_no_doubt();
}

/* Of parts of a run: waits that began before a part, or ended after it. */
static void test_doubts_of_borders(void **state)
{
	(void)state;
	add_external("blocked", CPA_EXT_WAIT, 1, 0.5);
	profile.program.border_s = 20;
	profile.program.segment_border_s = 1.5;
	expect_doubt(
		"This may be off: for 20.0% of the observed path (2.00 s) cpa did not see what "
		"threads waited for, most of it across borders of parts: the critical path may be up "
		"to 2.00 s longer.");
	/* Of all threads' time they are no reason: many wait for what others do, as for the end of a thread. */
	profile.program.segment_border_s = 0.1;
	add_thread(0, 1);
	threads[0].lived_s = 30;
	expect_no_doubt();
	components[0].total_s = 6;
	expect_doubt(
		"This may be off: for 20.0% of the threads' time (6.00 s) cpa did not see what threads "
		"waited for, most of it blocked: the critical path may be up to 2.00 s longer.");
	components[0].total_s = 1;
	profile.program.segment_border_s = 6;
	expect("unseen",
	       "What limits this program is not known: for 65.0% of the observed path (6.50 s) cpa did not "
	       "see what threads waited for, most of it across borders of parts: the critical path may be "
	       "up to 2.00 s longer.",
	       "Profile longer parts of the run, or all of it: cpa knows little of waits that began before "
	       "a part, or ended after it.");
	assert_null(verdict.doubt);
	/* Of a small part of a run other waits, too, may be known in part only. */
	profile.program.segment_border_s = 0.5;
	components[0].observed_path_s = 6;
	profile.program.run_s = 30;
	profile.parts = 1;
	expect("unseen",
	       "What limits this program is not known: for 65.0% of the observed path (6.50 s) cpa did not "
	       "see what threads waited for, most of it blocked: the critical path may be up to 2.00 s "
	       "longer.",
	       "Profile longer parts of the run, or all of it: cpa knows little of waits that began before "
	       "a part, or ended after it.");
	assert_string_equal(verdict.doubt,
			    "Only 10.0 s of the run's 30.0 s were profiled, in 1 part: the "
			    "rest may be different.");
}

/* A process that was killed may have worked since its last event. */
static void test_doubts_of_killed(void **state)
{
	struct cpa_process_figures lost = { .pid = 4712,
					    .name = "sh",
					    .ending = CPA_ENDING_KILLED };

	(void)state;
	profile.diagnostics.lost = &lost;
	profile.diagnostics.lost_s = 6;
	expect_doubt(
		"This may be off: what process 4712 (sh, killed) did in its last 6.00 s is in no "
		"figure.");
}

static void test_doubts_of_spinning(void **state)
{
	static struct cpa_module_figures modules[] = { { .path = "/usr/lib/libtbb.so.12" } };
	struct cpa_component_figures *function = add(CPA_FUNCTION, "receive_or_steal", 1, 1);

	(void)state;
	profile.module = modules;
	profile.modules = 1;
	function->module = 1;
	function->total_s = 3;
	expect_doubt("This may be off: 1.00 s of the critical path is time in libtbb.so.12, whose "
		     "threads spin while they have no work: the path may be shorter by as much.");
	function->critical_path_s = 0.7;
	expect_no_doubt();
}

static void test_doubts_of_strangers(void **state)
{
	(void)state;
	add_thread(10, 1);
	threads[0].lived_s = 10;
	profile.diagnostics.missing_s = 3;
	expect_doubt(
		"This may be off: threads that cpa never met used 3.00 s of CPU time: the critical "
		"path may be up to 2.00 s longer.");
}

static void test_doubts_of_parts(void **state)
{
	(void)state;
	profile.program.run_s = 3 * profile.program.wall_s;
	expect_no_doubt(); /* all of it was profiled */
	profile.parts = 1;
	expect_doubt("Only 10.0 s of the run's 30.0 s were profiled, in 1 part: the rest may be "
		     "different.");
	profile.program.earlier_parts = 8;
	expect_doubt("Only 10.0 s of the run's 30.0 s were profiled, in 9 parts: the rest may be "
		     "different.");
	profile.parts = 2;
	expect_no_doubt();
	profile.parts = 1;
	profile.program.run_s = 2 * profile.program.wall_s;
	expect_no_doubt();
}

/* That two components gain about as much is no doubt of the verdict on one of them: it stands behind that. */
static void test_rivals(void **state)
{
	struct cpa_component_figures *one = add(CPA_FUNCTION, "one", 1.7, 1.6);
	struct cpa_component_figures *two = add(CPA_FUNCTION, "two", 1.6, 1.5);

	(void)state;
	one->saved_margin_s = two->saved_margin_s = 0.1;
	profile.rivals = (struct cpa_rivals){ .first = one, .second = two, .windows = 54 };
	expect_no_doubt();
	assert_string_equal(verdict.kind, "work");
	assert_int_equal(verdict.slot, one->slot);
	assert_string_equal(
		verdict.beside,
		"The function one saves 1.60 s +- 100 ms, the function two 1.50 s +- 100 "
		"ms: about 54 more windows would tell them apart.");
	/* Nothing of it where the verdict is on another component. */
	profile.rivals.first = two;
	expect_no_doubt();
	assert_null(verdict.beside);
}

/* Shares of windows that are not those of the run are a doubt, with those of the run. */
static void test_uneven(void **state)
{
	struct cpa_component_figures *one = add(CPA_FUNCTION, "one", 1.7, 1.6);
	struct cpa_component_figures *two = add(CPA_FUNCTION, "two", 1.6, 1.5);

	(void)state;
	profile.uneven = (struct cpa_uneven){ 2, { { one, 0.5, 0.1 }, { two, 0.1, 0.25 } } };
	expect_doubt(
		"Windows were rarer where cpa costs more: weighted by the time that each stands for, the "
		"function one has 10% of the critical path (50% in the windows), the function two has 25% "
		"of the critical path (10% in the windows).");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_unseen),
		TEST(test_nothing_profiled),
		TEST(test_doubts_of_end),
		TEST(test_doubts_of_path),
		TEST(test_doubts_of_threads),
		TEST(test_doubts_of_borders),
		TEST(test_doubts_of_killed),
		TEST(test_doubts_of_spinning),
		TEST(test_doubts_of_strangers),
		TEST(test_doubts_of_parts),
		TEST(test_rivals),
		TEST(test_uneven),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
