/* SPDX-License-Identifier: MIT */
/* tests/unit/test_verdict_jobs.c - verdicts on processes of one command, which their arguments tell apart */
#include "tests/unit/verdict_run.h"
#include "analysis/profile/processes.h"

static struct cpa_process_figures processes[MOST];

/* Process @name @argument of the class of slot 10, with @work_s of work from @start_s to @end_s. */
static struct cpa_process_figures *add_job(char *name, char *argument, double work_s,
					   double start_s, double end_s)
{
	struct cpa_process_figures *each = &processes[profile.processes++];

	*each = (struct cpa_process_figures){
		.id = profile.processes,
		.pid = 4710 + (uint32_t)profile.processes,
		.count = 1,
		.threads = 1,
		.images = 1,
		.name = name,
		.argument = argument,
		.start_s = start_s,
		.end_s = end_s,
		.cpu_s = work_s,
		.process_s = work_s,
	};
	profile.process = processes;
	add_thread(10, work_s);
	threads[profile.threads - 1].process = each->id;
	threads[profile.threads - 1].begun_s = start_s;
	threads[profile.threads - 1].lived_s = end_s - start_s;
	return each;
}

#define LAST                                                                           \
	"The last job was cc1 slow.c: 7.00 s of CPU time, from 1.00 s to 8.00 s; the " \
	"other 2 of cc1 had ended by 5.00 s."

static void add_jobs(void)
{
	add(CPA_THREAD, "cc1", 8, 8)->by = CPA_BY_NAME;
	add_job("cc1", "a.c", 1, 0, 1);
	add_job("cc1", "slow.c", 7, 1, 8);
	add_job("cc1", "b.c", 4, 0, 5);
}

static void test_imbalance(void **state)
{
	(void)state;
	add_jobs();
	expect("imbalance",
	       "Uneven work limits this program: its 3 processes of cc1 have 4.00 s of work each on "
	       "average, but the busiest, cc1 slow.c, has 7.00 s, and the longest chain of them is "
	       "8.00 s.",
	       "Start the longest of these processes first, or divide its work: at most 2.00 times "
	       "as fast.");
	assert_string_equal(verdict.beside, LAST);
	assert_string_equal(verdict.options, "--level process");
	/* Without an argument it is one of several of that name. */
	processes[1].argument = NULL;
	expect_kind("imbalance");
	assert_non_null(strstr(verdict.sentence, "the busiest has 7.00 s"));
	assert_null(verdict.beside);
}

/* Of processes whose threads had one row of the table each one's work is in its own row, if it has one. */
static void test_many(void **state)
{
	(void)state;
	add_jobs();
	threads[1].earlier = 60;
	threads[1].process_s = 70;
	processes[1].process_s = 1.5;
	processes[2].process_s = threads[2].process_s = 2;
	profile.program.work_s = 20;
	expect("turns",
	       "Processes that work in turn limit this program: its 63 of cc1 have 1.16 s of work "
	       "each on average, but one has to wait for another, in a chain of 8.00 s.",
	       "Let more of them run at the same time: at most 1.60 times as fast on 4 processors, "
	       "more on more of them.");
	assert_string_equal(verdict.options, "--level process");
	/* A sum of several was the last. */
	processes[1].pid = 0;
	processes[1].count = 61;
	expect_kind("turns");
	assert_null(verdict.beside);
}

/* One that came after all others was not waited for beside them. */
static void test_in_turn(void **state)
{
	(void)state;
	add_jobs();
	processes[2].start_s = 0.5;
	processes[2].end_s = 1;
	processes[0].end_s = 0.5;
	expect_kind("imbalance");
	assert_null(verdict.beside);
}

/* The verdict may be another one; threads of one process are no jobs. */
static void test_other(void **state)
{
	(void)state;
	add_jobs();
	profile.program.work_s = profile.program.cpu_s = 40;
	expect_kind("processors");
	assert_string_equal(verdict.beside, LAST);
	components[0].by = CPA_BY_ADDRESS;
	expect_kind("processors");
	assert_null(verdict.beside);
	components[0].by = CPA_BY_NAME;
	components[0].critical_path_s = 0.7;
	expect_kind("processors");
	assert_null(verdict.beside);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_imbalance),
		TEST(test_many),
		TEST(test_in_turn),
		TEST(test_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
