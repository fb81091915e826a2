/* SPDX-License-Identifier: MIT */
/* tests/unit/test_report_guidance.c - which sentences follow from which figures */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/verdict/guidance.h"
#include "analysis/profile/components.h"
#include "analysis/profile/objects.h"
#include "analysis/profile/queues.h"
#include "analysis/profile/threads.h"

#define MOST 4

static struct cpa_component_figures components[MOST];
static struct cpa_object_figures objects[1];
static struct cpa_queue_figures queues[1];
static struct cpa_thread_figures threads[1];
static struct cpa_profile profile;
static struct cpa_verdict verdict;
static struct cpa_guidance guidance;

/* A run of 10 s on 4 threads, path 8 s, without problems. */
static int setup(void **state)
{
	(void)state;
	memset(components, 0, sizeof(components));
	memset(objects, 0, sizeof(objects));
	memset(queues, 0, sizeof(queues));
	verdict = (struct cpa_verdict){ .kind = "work" };
	profile = (struct cpa_profile){
		.program = { .complete = true,
			     .cores = 4,
			     .wall_s = 10,
			     .cpu_s = 30,
			     .work_s = 30,
			     .critical_path_s = 8,
			     .observed_path_s = 10,
			     .segment_s = { [CPA_TIME_PROCESS] = 10 },
			     .parallelism = 3,
			     .max_parallelism = 3.75 },
		.component = components,
		.object = objects,
		.queue = queues,
		.thread = threads,
	};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	cpa_guidance_fini(&guidance);
	return 0;
}

static void add(enum cpa_component_kind kind, char *name, char *location, double path_s,
		double saved_s)
{
	components[profile.components++] = (struct cpa_component_figures){
		.kind = kind,
		.by = kind == CPA_LOCK ? CPA_BY_VARIABLE : CPA_BY_ADDRESS,
		.name = name,
		.location = location,
		.slot = 10,
		.critical_path_s = path_s,
		.saved_s = saved_s,
	};
}

static void guide(void)
{
	cpa_guidance_init(&guidance, &profile, &verdict);
}

static void expect_advice(size_t number, const char *sentence)
{
	assert_true(number < guidance.advices);
	assert_string_equal(guidance.advice[number], sentence);
}

static void expect_only(const char *sentence)
{
	guide();
	assert_int_equal(guidance.advices, 1);
	assert_int_equal(guidance.warnings, 0);
	expect_advice(0, sentence);
}

static void test_nothing_to_say(void **state)
{
	(void)state;
	guide();
	assert_int_equal(guidance.advices, 0);
	assert_int_equal(guidance.warnings, 0);
}

static void test_lock(void **state)
{
	(void)state;
	add(CPA_LOCK, "q->lock", "/src/queue.c:88", 3.1, 2.8);
	expect_only("The lock q->lock (queue.c:88) is on the critical path for 3.10 s of 8.00 s; "
		    "without its critical section the path would be 5.20 s.");
}

static void test_lock_known_by_its_site(void **state)
{
	(void)state;
	add(CPA_LOCK, "mutex from cache_init", "cache.c:88", 3, 3);
	components[0].by = CPA_BY_INIT_SITE;
	expect_only("The mutex from cache_init (cache.c:88) is on the critical path for 3.00 s of "
		    "8.00 s; without its critical section the path would be 5.00 s.");
}

/* A lock held by one thread from start to end, or one that never made a thread wait. */
static void test_lock_that_orders_nobody(void **state)
{
	(void)state;
	add(CPA_LOCK, "whole", "/src/main.c:7", 8, 7);
	add(CPA_FUNCTION, "compress", "", 3, 3);
	profile.objects = 1;
	objects[0] = (struct cpa_object_figures){
		.kind = "mutex", .class = "whole", .slot = 10, .has_slot = true, .acquisitions = 1
	};
	components[1].slot = 11;
	expect_only(
		"The function compress is on the critical path for 3.00 s of 8.00 s; without it "
		"the path would be 5.00 s.");
	cpa_guidance_fini(&guidance);
	objects[0].handoffs = 1;
	guide();
	expect_advice(0, "The lock whole (main.c:7) is on the critical path for 8.00 s of 8.00 s; "
			 "without its critical section the path would be 1.00 s.");
}

static void test_next_component(void **state)
{
	(void)state;
	add(CPA_FUNCTION, "parse", "parse.c:2", 4, 3);
	add(CPA_THREAD, "worker", NULL, 4, 2.5);
	add(CPA_LOCK, "lock", NULL, 2, 2);
	guide();
	assert_int_equal(guidance.advices, 2);
	expect_advice(1,
		      "Next is the lock lock: without it alone the path would be 2.00 s shorter.");
}

/* Two components that together exceed the path overlap: the second is not a next step. */
static void test_overlap(void **state)
{
	(void)state;
	add(CPA_LOCK, "lock", NULL, 6, 5);
	add(CPA_FUNCTION, "compute", "c.c:1", 5, 4);
	add(CPA_FUNCTION, "read", "r.c:1", 1, 1);
	guide();
	assert_int_equal(guidance.advices, 3);
	expect_advice(1, "At least 3.00 s of the path is time both in the lock lock and in the "
			 "function compute (c.c:1).");
	expect_advice(2, "Next is the function read (r.c:1): without it alone the path would be "
			 "1.00 s shorter.");
}

/* A thread's share includes all that it does; functions and locks are more specific. */
static void test_functions_before_threads(void **state)
{
	(void)state;
	add(CPA_THREAD, "worker", NULL, 7, 7);
	add(CPA_FUNCTION, "parse", "parse.c:2", 4, 3);
	expect_only("The function parse (parse.c:2) is on the critical path for 4.00 s of 8.00 s; "
		    "without it the path would be 5.00 s.");
}

static void test_external_that_explains_more(void **state)
{
	(void)state;
	add(CPA_EXTERNAL, "read", NULL, 6, 6);
	add(CPA_FUNCTION, "parse", "parse.c:2", 2, 0.2);
	expect_only("The time blocked in read is on the critical path for 6.00 s of 8.00 s; "
		    "without it the path would be 2.00 s.");
}

static void test_unsampled_is_no_advice(void **state)
{
	(void)state;
	add(CPA_FUNCTION, "(not sampled)", NULL, 6, 6);
	components[0].slot = CPA_SLOT_UNSAMPLED;
	add(CPA_FUNCTION, "parse", "parse.c:2", 2, 2);
	expect_only("The function parse (parse.c:2) is on the critical path for 2.00 s of 8.00 s; "
		    "without it the path would be 6.00 s.");
}

static void test_nothing_stands_out(void **state)
{
	(void)state;
	add(CPA_FUNCTION, "parse", "parse.c:2", 0.3, 0.1);
	expect_only("No component stands out: without the largest, the function parse "
		    "(parse.c:2), the critical path of 8.00 s would be 100 ms shorter.");
}

static void test_shared_slot(void **state)
{
	(void)state;
	add(CPA_LOCK, "a, b, +3 more", NULL, 3, 3);
	components[0].shared = true;
	expect_only("One or more of the locks a, b, +3 more is on the critical path for 3.00 s of "
		    "8.00 s; without its critical section the path would be 5.00 s.");
}

/* Time blocked in an unknown call, or outside any call, is not reported as blocked in a call. */
static void test_externals_that_are_no_calls(void **state)
{
	(void)state;
	add(CPA_EXTERNAL, "other", NULL, 4, 4);
	expect_only("The time blocked for disks (page faults, system calls that cpa does not wrap) "
		    "is on the critical path for 4.00 s of 8.00 s; without it the path would be "
		    "4.00 s.");
}

static void test_busy_lock_off_the_path(void **state)
{
	(void)state;
	objects[0] = (struct cpa_object_figures){
		.kind = "mutex", .class = "log_lock", .wait_s = 9, .has_slot = true
	};
	profile.objects = 1;
	expect_only("Do not start with log_lock: threads wait for it longer than for any other "
		    "lock "
		    "(9.00 s in all), but without its critical sections the critical path would "
		    "be no shorter.");
}

/* What the verdict says is not said again, and nothing contradicts it. */
static void test_leaves_it_to_the_verdict(void **state)
{
	(void)state;
	verdict.kind = "lock";
	verdict.slot = 10;
	add(CPA_LOCK, "lock", NULL, 6, 5);
	add(CPA_FUNCTION, "compute", "c.c:1", 5, 4);
	objects[0] = (struct cpa_object_figures){
		.kind = "mutex", .class = "log_lock", .wait_s = 9, .has_slot = true
	};
	profile.objects = 1;
	expect_only("At least 3.00 s of the path is time both in the lock lock and in the function "
		    "compute (c.c:1).");
	cpa_guidance_fini(&guidance);
	verdict.kind = "idle";
	profile.components = profile.objects = 0;
	add(CPA_EXTERNAL, "poll", NULL, 7.5, 7.5);
	verdict.slot = 10;
	guide();
	assert_int_equal(guidance.advices + guidance.warnings, 0);
}

static void add_queue(enum cpa_limit limit, double path_s, double producers_path_s)
{
	static char name[] = "tasks";

	queues[profile.queues++] = (struct cpa_queue_figures){
		.by = CPA_BY_NAME,
		.name = name,
		.slot = 10,
		.dequeued = 100,
		.services = 100,
		.mean_depth = 40,
		.wait_s = 3.2e-3,
		.service_s = 0.9e-3,
		.idle = 0.8,
		.starved = 0.5,
		.limit = limit,
		.critical_path_s = path_s,
		.producers_path_s = producers_path_s,
	};
}

static void test_processing_of_items(void **state)
{
	(void)state;
	add(CPA_QUEUE, "tasks", NULL, 4, 4);
	components[0].by = CPA_BY_NAME;
	add_queue(CPA_LIMIT_BALANCED, 4, 0);
	expect_only("The processing of items of queue tasks is on the critical path for 4.00 s of "
		    "8.00 s; without it the path would be 4.00 s.");
	cpa_guidance_fini(&guidance);
	queues[0].undone = 99;
	guide();
	assert_int_equal(guidance.advices, 2);
	expect_advice(
		1, "The program does not mark the end of an item of this queue, so everything that "
		   "its thread does until the next dequeue counts as its processing.");
}

static void expect_warning(const char *words)
{
	guide();
	assert_int_equal(guidance.warnings, 1);
	if (!strstr(guidance.warning[0], words))
		fail_msg("%s", guidance.warning[0]);
}

static void test_warns_of_probes(void **state)
{
	(void)state;
	profile.program.segment_s[CPA_TIME_PROBE] = 1;
	profile.diagnostics.probe_s = 1;
	expect_warning("The profiler itself takes 10.0% of the observed path");
}

/* Of the CPU time where that is the larger share, as in a run that others leave little of the processors. */
static void test_warns_of_probes_under_load(void **state)
{
	(void)state;
	profile.program.segment_s[CPA_TIME_PROBE] = 0.6;
	profile.diagnostics.probe_s = 6;
	expect_warning("The profiler itself takes 20.0% of the CPU time");
}

/* Time without a processor is not what the profiler takes. */
static void test_warns_of_waits_in_probes(void **state)
{
	(void)state;
	profile.program.segment_s[CPA_TIME_PROBE] = 1;
	profile.diagnostics.probe_s = 0.01;
	expect_warning(
		"10.0% of the observed path (1.00 s) is time in the profiler itself, more than the "
		"10.0 ms of CPU time that its events took: the rest is its start, or waits for a "
		"processor.");
}

static void test_warns_of_probes_off_the_path(void **state)
{
	(void)state;
	profile.diagnostics.probe_s = 3;
	expect_warning("The profiler itself takes 10.0% of the CPU time");
}

static void test_warns_of_missing_samples(void **state)
{
	(void)state;
	add(CPA_FUNCTION, "(not sampled)", NULL, 0, 0);
	components[0].slot = CPA_SLOT_UNSAMPLED;
	components[0].total_s = 6;
	expect_warning("20.0% of the CPU time");
}

static void test_warns_of_few_samples(void **state)
{
	(void)state;
	profile.diagnostics.samples = 100;
	guide();
	assert_int_equal(guidance.warnings, 0);
	profile.diagnostics.samples = 25;
	expect_warning("Functions are known by 25 samples only: the share of one may be off by 20 "
		       "percentage points.");
	/* Those of an instrumented build need none. */
	add(CPA_FUNCTION, "exact", NULL, 0.1, 0.1);
	components[0].calls = 7;
	cpa_guidance_fini(&guidance);
	guide();
	assert_int_equal(guidance.warnings, 0);
}

static void test_warns_of_waiting_for_others(void **state)
{
	(void)state;
	profile.program.critical_path_s = 8;
	add(CPA_EXTERNAL, "read", NULL, 2, 2);
	add(CPA_EXTERNAL, "connect", NULL, 4.8, 4.8);
	expect_warning("85.0% of the critical path is time blocked outside synchronization, most "
		       "of it in connect:");
	cpa_guidance_fini(&guidance);
	components[1].critical_path_s = 1;
	guide();
	assert_int_equal(guidance.warnings, 0);
}

static void test_says_whom_it_waited_for(void **state)
{
	static const struct {
		const char *external, *words;
	} cases[] = {
		{ "child", "in child: the program waited for other processes" },
		{ "sleep", "in sleep: the program slept." },
		{ "read", "waited for files, devices or other programs" },
		{ "other", "in page faults or calls that cpa does not wrap: the program waited" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		profile.components = 0;
		add(CPA_EXTERNAL, (char *)cases[i].external, NULL, 7.5, 7.5);
		expect_warning(cases[i].words);
		cpa_guidance_fini(&guidance);
	}
	guide();
}

/* Idle time is on the observed path alone; the kind with most of it is named. */
static void test_says_what_it_was_idle_for(void **state)
{
	static const struct {
		const char *external, *words;
	} cases[] = {
		{ "poll", "as a server waits for its clients" },
		{ "accept", "as a server waits for its clients" },
		{ "signal", "in signal: it waited for signals. cpa follows" },
		{ "timeout", "in timeout: a thread looked for something from time to time" },
	};

	(void)state;
	profile.program.segment_blocked_s[CPA_EXT_IDLE] = 6;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		profile.components = 0;
		add(CPA_EXTERNAL, "input", NULL, 0, 0);
		add(CPA_EXTERNAL, (char *)cases[i].external, NULL, 0, 0);
		components[0].class = components[1].class = CPA_EXT_IDLE;
		components[0].observed_path_s = 1;
		components[1].observed_path_s = 5;
		expect_warning("The run was idle for 60.0% of the observed path");
		assert_non_null(strstr(guidance.warning[0], cases[i].words));
		cpa_guidance_fini(&guidance);
	}
	profile.program.segment_blocked_s[CPA_EXT_IDLE] = 4;
	guide();
	assert_int_equal(guidance.warnings, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_nothing_to_say),
		TEST(test_lock),
		TEST(test_lock_known_by_its_site),
		TEST(test_lock_that_orders_nobody),
		TEST(test_next_component),
		TEST(test_overlap),
		TEST(test_functions_before_threads),
		TEST(test_external_that_explains_more),
		TEST(test_unsampled_is_no_advice),
		TEST(test_nothing_stands_out),
		TEST(test_shared_slot),
		TEST(test_externals_that_are_no_calls),
		TEST(test_busy_lock_off_the_path),
		TEST(test_leaves_it_to_the_verdict),
		TEST(test_processing_of_items),
		TEST(test_warns_of_probes),
		TEST(test_warns_of_probes_under_load),
		TEST(test_warns_of_waits_in_probes),
		TEST(test_warns_of_probes_off_the_path),
		TEST(test_warns_of_missing_samples),
		TEST(test_warns_of_few_samples),
		TEST(test_warns_of_waiting_for_others),
		TEST(test_says_whom_it_waited_for),
		TEST(test_says_what_it_was_idle_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
