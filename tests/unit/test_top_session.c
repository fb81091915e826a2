/* SPDX-License-Identifier: MIT */
/* tests/unit/test_top_session.c - a session read repeatedly, and its process */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/input/load.h"
#include "analysis/symbols/names.h"
#include "analysis/profile/profile.h"
#include "analysis/profile/threads.h"
#include "analysis/input/process.h"
#include "tests/unit/dump_queues.h"

static char file[] = "/tmp/test_top_session.XXXXXX";
static struct dump_maker maker;
static struct cpa_dump dump;
static struct cpa_names names;
static char *error;

/* Write the maker's session to the same file, as the writer of a session does. */
static void save(void)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || pwrite(fd, maker.bytes, maker.size, 0) != (ssize_t)maker.size)
		maker_fail(file);
	close(fd);
}

static int setup(void **state)
{
	(void)state;
	error = NULL;
	dump_maker_example(&maker);
	dump_maker_header(&maker)->state = CPA_RUNNING;
	save();
	/* Sparse, with room for later data. */
	if (truncate(file, 1 << 24) < 0)
		maker_fail(file);
	assert_int_equal(cpa_dump_open(&dump, file, &error), 0);
	cpa_names_init(&names, &dump);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	cpa_names_fini(&names);
	cpa_dump_close(&dump);
	dump_maker_free(&maker);
	free(error);
	/* The next test must not see the rest of this file. */
	return truncate(file, 0);
}

static void read_again(void)
{
	save();
	assert_int_equal(cpa_dump_again(&dump, &error), 0);
	cpa_names_again(&names, &dump);
}

static void test_new_rows(void **state)
{
	struct cpa_thread thread = { .key = 3, .state = CPA_THREAD_RUNNING, .tid = 4713 };
	struct cpa_profile *profile;

	(void)state;
	assert_int_equal(dump.rows[CPA_TABLE_THREADS], 2);
	dump_maker_row(&maker, CPA_TABLE_THREADS, &thread);
	read_again();
	assert_int_equal(dump.rows[CPA_TABLE_THREADS], 3);
	profile = cpa_profile_build_named(&dump, &names, CPA_GRAPH_NODES);
	assert_int_equal(profile->threads, 3);
	assert_int_equal(profile->thread[2].tid, 4713);
	assert_int_equal(profile->edges, 0);
	assert_int_equal(profile->nodes, 3);
	cpa_profile_free(profile);
	/* The figures equal those of a first reading. */
	profile = cpa_profile_build_named(&dump, &names, CPA_GRAPH_ALL);
	assert_int_equal(profile->edges, 2);
	cpa_profile_free(profile);
}

static void test_finishes(void **state)
{
	(void)state;
	assert_true(dump.live);
	dump_maker_header(&maker)->state = CPA_COMPLETE;
	read_again();
	assert_false(dump.live);
}

/* Damage is not counted again at each reading. */
static void test_broken_rows(void **state)
{
	struct cpa_profile *profile;

	(void)state;
	((struct cpa_node *)dump_maker_at(&maker, CPA_TABLE_NODES, 1))->kind = 1000;
	for (int i = 0; i < 3; i++) {
		read_again();
		profile = cpa_profile_build_named(&dump, &names, CPA_GRAPH_ALL);
		assert_int_equal(dump.broken[CPA_TABLE_NODES], 1);
		cpa_profile_free(profile);
	}
}

static void test_other_slots(void **state)
{
	(void)state;
	dump_maker_header(&maker)->slots = 2 * MAKER_SLOTS;
	save();
	assert_int_equal(cpa_dump_again(&dump, &error), -1);
	assert_non_null(strstr(error, "number of slots 32 found"));
}

/* Truncated while open: the rest reads as zeros, and this is detected. */
static void test_cut(void **state)
{
	struct cpa_profile *profile;

	(void)state;
	/* Again: the handler of a test is the test library's until then. */
	cpa_dump_close(&dump);
	assert_int_equal(cpa_dump_open(&dump, file, &error), 0);
	assert_true(cpa_dump_whole(&dump));
	assert_int_equal(truncate(file, CPA_HEADER_SIZE), 0);
	assert_int_equal(cpa_dump_again(&dump, &error), 0);
	cpa_names_again(&names, &dump);
	profile = cpa_profile_build_named(&dump, &names, CPA_GRAPH_ALL);
	assert_int_equal(profile->threads, 0);
	assert_false(cpa_dump_whole(&dump));
	cpa_profile_free(profile);
	assert_int_equal(truncate(file, 0), 0);
	assert_int_equal(cpa_dump_again(&dump, &error), -1);
}

static void test_names_are_kept(void **state)
{
	const struct cpa_place *place = cpa_names_component(&names, 1);
	const char *name = place->name, *site = cpa_names_site(&names, 1, true)->name;
	struct cpa_component added;

	(void)state;
	assert_string_equal(name, "example_work");
	added = *(struct cpa_component *)dump_maker_at(&maker, CPA_TABLE_COMPONENTS, 1);
	added.key = 77;
	added.address = (uintptr_t)example_worker;
	dump_maker_row(&maker, CPA_TABLE_COMPONENTS, &added);
	read_again();
	/* The same string, not an equal one elsewhere. */
	assert_ptr_equal(cpa_names_component(&names, 1)->name, name);
	assert_ptr_equal(cpa_names_site(&names, 1, true)->name, site);
	assert_string_equal(cpa_names_component(&names, names.components)->name, "example_worker");
}

/* A row that was incomplete when first read. */
static void test_names_that_change(void **state)
{
	struct cpa_component *row;
	struct cpa_component lock = { .kind = CPA_LOCK,
				      .by = CPA_BY_NAME,
				      .address = maker_add_name(&maker, ""),
				      .key = 88 };
	struct cpa_site *site;

	(void)state;
	dump_maker_row(&maker, CPA_TABLE_COMPONENTS, &lock);
	read_again();
	assert_string_equal(cpa_names_component(&names, 1)->name, "example_work");
	assert_string_equal(cpa_names_component(&names, names.components)->name, "(no name)");
	cpa_names_site(&names, 1, true);
	row = dump_maker_at(&maker, CPA_TABLE_COMPONENTS, 1);
	row->address = (uintptr_t)example_worker;
	strcpy(((struct cpa_name *)dump_maker_at(&maker, CPA_TABLE_NAMES, 1))->text, "late");
	site = dump_maker_at(&maker, CPA_TABLE_SITES, 1);
	site->key = (uintptr_t)example_work + 4;
	read_again();
	assert_string_equal(cpa_names_component(&names, 1)->name, "example_worker");
	assert_string_equal(cpa_names_component(&names, names.components)->name, "late");
	assert_string_equal(cpa_names_site(&names, 1, true)->name, "example_work");
}

/* A module that appeared after the component: no name of an anonymous place remains. */
static void test_late_module(void **state)
{
	struct cpa_module module;
	struct cpa_component *row;

	(void)state;
	row = dump_maker_at(&maker, CPA_TABLE_COMPONENTS, 1);
	row->module = 2;
	read_again();
	assert_non_null(strstr(cpa_names_component(&names, 1)->name, "[anonymous]"));
	module = *(struct cpa_module *)dump_maker_at(&maker, CPA_TABLE_MODULES, 1);
	module.key = 2;
	dump_maker_row(&maker, CPA_TABLE_MODULES, &module);
	read_again();
	assert_string_equal(cpa_names_component(&names, 1)->name, "example_work");
}

static void test_session_of_process(void **state)
{
	char *found;
	void *map;
	int fd;

	(void)state;
	assert_null(cpa_process_session((uint32_t)getpid(), &error));
	assert_non_null(strstr(error, "not profiled"));
	free(error);
	error = NULL;
	fd = open(file, O_RDWR | O_CLOEXEC);
	map = mmap(NULL, 1 << 24, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(map != MAP_FAILED);
	close(fd);
	found = cpa_process_session((uint32_t)getpid(), &error);
	assert_non_null(found);
	assert_string_equal(found, file);
	free(found);
	munmap(map, 1 << 24);
	assert_null(cpa_process_session(999999999, &error));
	assert_non_null(strstr(error, "999999999: no such process"));
}

static void *linger(void *argument)
{
	pause();
	return argument;
}

/* The first thread leaves, the other stays. */
static void __attribute__((noreturn)) leave_first(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, linger, NULL);
	pthread_exit(NULL);
}

static pid_t start_child(bool leave)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	/* Map the file as its process does. */
	mmap(NULL, 1 << 24, PROT_READ | PROT_WRITE, MAP_SHARED, open(file, O_RDWR), 0);
	if (leave)
		leave_first();
	for (;;)
		pause();
}

static struct cpa_process wait_for_process(pid_t pid)
{
	struct cpa_process process;

	/* Until it has mapped the file. */
	while ((process = cpa_process_open((uint32_t)pid, file)).folder < 0)
		usleep(1000);
	return process;
}

static void test_process(void **state)
{
	pid_t pid = start_child(false);
	struct cpa_process process = wait_for_process(pid), other;
	struct cpa_process_task *task;
	size_t tasks;

	(void)state;
	assert_true(cpa_process_alive(&process));
	assert_true(cpa_process_writes((uint32_t)pid, file));
	/* Until it waits: the kernel counts a thread's CPU time when it stops. */
	while ((task = cpa_process_tasks(&process, &tasks))->state != 'S') {
		free(task);
		usleep(1000);
	}
#ifndef __SANITIZE_THREAD__ /* TSan adds a thread of its own */
	assert_int_equal(tasks, 1);
#endif
	assert_int_equal(task->tid, pid);
	assert_true(task->cpu_s > 0 && task->cpu_s < 100);
	free(task);
	/* The process exists but does not map that file. */
	other = cpa_process_open((uint32_t)pid, "/proc/self/exe");
	assert_int_equal(other.folder, -1);
	cpa_process_close(&other);
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT), 0);
	/* First nobody has waited for it; then somebody has. */
	assert_false(cpa_process_alive(&process));
	waitpid(pid, NULL, 0);
	assert_false(cpa_process_alive(&process));
	assert_false(cpa_process_writes((uint32_t)pid, file));
	free(cpa_process_tasks(&process, &tasks));
	assert_int_equal(tasks, 0);
	cpa_process_close(&process);
}

static void test_first_thread_left(void **state)
{
	pid_t pid = start_child(true);
	struct cpa_process process = wait_for_process(pid);
	char name[64], text[512] = "";
	FILE *stat;

	(void)state;
	snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	do {
		stat = fopen(name, "re");
		assert_non_null(stat);
		assert_non_null(fgets(text, sizeof(text), stat));
		fclose(stat);
		assert_true(cpa_process_alive(&process));
	} while (!strstr(text, ") Z"));
	assert_true(cpa_process_alive(&process));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_false(cpa_process_alive(&process));
	cpa_process_close(&process);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_new_rows),
		TEST(test_finishes),
		TEST(test_broken_rows),
		TEST(test_other_slots),
		TEST(test_cut),
		TEST(test_names_are_kept),
		TEST(test_names_that_change),
		TEST(test_late_module),
		TEST(test_session_of_process),
		TEST(test_process),
		TEST(test_first_thread_left),
	};
	int fd = mkstemp(file), failed;

	if (fd < 0)
		maker_fail(file);
	close(fd);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(file);
	return failed;
}
