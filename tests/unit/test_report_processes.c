/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_report_processes.c - analysis/processes.c: processes, and rows that lie
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/profile.h"

#include "tests/unit/dump_maker.h"

static char file[] = "/tmp/test_report_processes.XXXXXX";
static struct dump_maker maker;

static struct cpa_profile *build(struct cpa_dump *dump)
{
	struct cpa_profile *profile;
	char *error = NULL;

	dump_maker_save(&maker, file, maker.size);
	assert_int_equal(cpa_dump_open(dump, file, &error), 0);
	profile = cpa_profile_build(dump);
	assert_non_null(profile);
	return profile;
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
	struct cpa_profile *profile;
	struct cpa_dump dump;

	(void)state;
	dump_maker_start(&maker);
	add(1, CPA_PROCESS_RUNNING, 1000, 0);
	add(2, CPA_PROCESS_ENDED, 2000, 5);
	add(3, CPA_PROCESS_FREE, 4000, 0);
	add(4, CPA_PROCESS_SUM, 8000, 7);
	profile = build(&dump);
	assert_int_equal(profile->processes, 3);
	assert_int_equal(profile->process[0].pid, 1001);
	assert_int_equal(profile->process[0].ending, CPA_ENDING_NONE);
	assert_int_equal(profile->process[1].ending, CPA_ENDING_SEEN);
	assert_int_equal(profile->process[1].parent, 1);
	assert_true(profile->process[1].process_s > 1.9 * profile->process[0].process_s);
	assert_true(profile->process[1].wait_s > 1.9 * profile->process[1].process_s);
	assert_int_equal(profile->process[2].count, 17);
	cpa_profile_free(profile);
	cpa_dump_close(&dump);
	dump_maker_free(&maker);
}

/* States, names and threads that are none; no process has them. */
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
	struct cpa_profile *profile;
	struct cpa_dump dump;

	(void)state;
	dump_maker_start(&maker);
	dump_maker_row(&maker, CPA_TABLE_PROCESSES, &row);
	row.state = CPA_PROCESS_ENDED;
	dump_maker_row(&maker, CPA_TABLE_PROCESSES, &row);
	dump_maker_row(&maker, CPA_TABLE_THREADS, &thread);
	thread.process_row = 2;
	dump_maker_row(&maker, CPA_TABLE_THREADS, &thread);
	profile = build(&dump);
	assert_int_equal(profile->processes, 1);
	assert_string_equal(profile->process[0].name, "?");
	assert_true(profile->process[0].cpu_s == 0);
	assert_int_equal(dump.broken[CPA_TABLE_PROCESSES], 1);
	cpa_profile_free(profile);
	cpa_dump_close(&dump);
	dump_maker_free(&maker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_lies),
	};
	int fd = mkstemp(file), failed;

	if (fd < 0)
		return 99;
	close(fd);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(file);
	return failed;
}
