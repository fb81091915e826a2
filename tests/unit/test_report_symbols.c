/* SPDX-License-Identifier: MIT */
/* tests/unit/test_report_symbols.c - names of this very program's functions and variables */
#include <dirent.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/symbols/symbols.h"
#include "tests/property/random.h"
#include "tests/unit/dump_maker.h"

/* Mangled name of queue::push(int). */
int push(int value) __asm__("_ZN5queue4pushEi");

__attribute__((noinline)) int push(int value)
{
	return value + (int)example_pool.size;
}

/* Of mycrate::foo::bar in Rust, and of demangle.test(int) in D. */
int rust(int value) __asm__("_RNvNtCs1234_7mycrate3foo3bar");
int dlang(int value) __asm__("_D8demangle4testFiZi");

__attribute__((noinline)) int rust(int value)
{
	return value + 2 + (int)example_pool.size;
}

__attribute__((noinline)) int dlang(int value)
{
	return value + 3 + (int)example_pool.size;
}

/* Of smooth in module solver, of smooth in no module, and one of C that ends so itself. */
int procedure(int value) __asm__("__solver_MOD_smooth");
int smooth_(int value);
int own_(int value);

__attribute__((noinline)) int procedure(int value)
{
	return value + 4 + (int)example_pool.size;
}

__attribute__((noinline)) int own_(int value)
{
	return value + 5 + (int)example_pool.size;
}

static struct cpa_module module;
static struct cpa_symbols *symbols;
static struct cpa_place place;

static int setup(void **state)
{
	struct dump_maker maker;

	(void)state;
	dump_maker_example(&maker);
	module = *(struct cpa_module *)dump_maker_at(&maker, CPA_TABLE_MODULES, 1);
	dump_maker_free(&maker);
	place = (struct cpa_place){ 0 };
	setenv("CPA_CACHE", "off", 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(place.name);
	free(place.location);
	cpa_symbols_close(symbols);
	return 0;
}

static void expect(const char *name, const char *location)
{
	assert_string_equal(place.name, name);
	if (!strstr(place.location, location))
		fail_msg("%s: at %s, expected %s", name, place.location, location);
}

static void test_function(void **state)
{
	(void)state;
	symbols = cpa_symbols_open(&module, 1);
	place = cpa_symbols_code(symbols, 1, (uintptr_t)example_work, false);
	expect("example_work", "dump_maker.h:");
	assert_null(cpa_symbols_trouble(symbols, 1));
}

/* The address behind a call may belong to the next function. */
static void test_return_address(void **state)
{
	(void)state;
	symbols = cpa_symbols_open(&module, 1);
	place = cpa_symbols_code(symbols, 1, (uintptr_t)example_work + 1, true);
	expect("example_work", "dump_maker.h:");
}

static void test_cpp_name(void **state)
{
	(void)state;
	assert_int_equal(push(1), 1);
	symbols = cpa_symbols_open(&module, 1);
	place = cpa_symbols_code(symbols, 1, (uintptr_t)push, false);
	expect("queue::push", "test_report_symbols.c:");
}

static void test_rust_and_d_names(void **state)
{
	struct cpa_place other;

	(void)state;
	assert_int_equal(rust(1) + 1, dlang(1));
	symbols = cpa_symbols_open(&module, 1);
	place = cpa_symbols_code(symbols, 1, (uintptr_t)rust, false);
	expect("mycrate::foo::bar", "test_report_symbols.c:");
	other = cpa_symbols_code(symbols, 1, (uintptr_t)dlang, false);
	assert_string_equal(other.name, "demangle.test(int)");
	free(other.name);
	free(other.location);
}

static void expect_name(uintptr_t address, const char *name)
{
	struct cpa_place at = cpa_symbols_code(symbols, 1, address, false);

	assert_string_equal(at.name, name);
	free(at.name);
	free(at.location);
}

static void test_fortran_names(void **state)
{
	(void)state;
	assert_int_equal(procedure(3) + 1, own_(3));
	assert_int_equal(smooth_(1), 7);
	symbols = cpa_symbols_open(&module, 1);
	expect_name((uintptr_t)procedure, "solver::smooth");
	expect_name((uintptr_t)smooth_, "smooth");
	expect_name((uintptr_t)own_, "own_");
}

static void test_variable(void **state)
{
	(void)state;
	symbols = cpa_symbols_open(&module, 1);
	place = cpa_symbols_variable(symbols, 1, (uintptr_t)&symbols, false);
	expect("symbols", "test_report_symbols.c:");
}

static void test_part_of_a_variable(void **state)
{
	(void)state;
	symbols = cpa_symbols_open(&module, 1);
	place = cpa_symbols_variable(symbols, 1, (uintptr_t)&example_pool.queue[2].lock, false);
	expect("example_pool.queue[2].lock", "dump_maker.h:");
}

/* A struct and its first member begin at one address. */
static void test_whole_part(void **state)
{
	(void)state;
	symbols = cpa_symbols_open(&module, 1);
	place = cpa_symbols_variable(symbols, 1, (uintptr_t)&example_pool.queue[2], false);
	expect("example_pool.queue[2].count", "dump_maker.h:");
	free(place.name);
	free(place.location);
	place = cpa_symbols_variable(symbols, 1, (uintptr_t)&example_pool.queue[2], true);
	expect("example_pool.queue[2]", "dump_maker.h:");
	free(place.name);
	free(place.location);
	place = cpa_symbols_variable(symbols, 1, (uintptr_t)&example_pool, true);
	expect("example_pool", "dump_maker.h:");
}

/* An address inside an object without a name of its own. */
static void test_offset_in_a_variable(void **state)
{
	(void)state;
	symbols = cpa_symbols_open(&module, 1);
	place = cpa_symbols_variable(symbols, 1, (uintptr_t)&example_pool.queue[0].lock + 8, false);
	expect("example_pool.queue[0].lock+0x8", "dump_maker.h:");
}

static void expect_unnamed(const char *words)
{
	char *expected = NULL;

	symbols = cpa_symbols_open(&module, 1);
	place = cpa_symbols_code(symbols, 1, (uintptr_t)example_work, false);
	assert_true(asprintf(&expected, "%s+0x%" PRIx64, strrchr(module.path, '/') + 1,
			     (uintptr_t)example_work - module.bias) > 0);
	assert_string_equal(place.name, expected);
	free(expected);
	if (!strstr(cpa_symbols_trouble(symbols, 1), words))
		fail_msg("%s", cpa_symbols_trouble(symbols, 1));
}

static void test_other_build_id(void **state)
{
	(void)state;
	assert_true(module.build_id_size > 0);
	module.build_id[0] ^= 1;
	expect_unnamed("was replaced since the run");
}

static void test_build_id_of_wrong_size(void **state)
{
	(void)state;
	module.build_id_size = 4000;
	expect_unnamed("was replaced since the run");
}

static void test_missing_file(void **state)
{
	(void)state;
	strcpy(module.path, "/no such folder/program");
	expect_unnamed("no longer exists");
}

static void test_special_file(void **state)
{
	(void)state;
	strcpy(module.path, "/dev/zero");
	expect_unnamed("no longer exists");
}

static void test_not_an_elf_file(void **state)
{
	(void)state;
	strcpy(module.path, "/etc/passwd");
	expect_unnamed("is not a readable ELF file");
}

static void test_no_module(void **state)
{
	(void)state;
	symbols = cpa_symbols_open(&module, 1);
	place = cpa_symbols_code(symbols, 0, 0x1234, false);
	assert_string_equal(place.name, "0x1234 [anonymous]");
	assert_null(place.location);
	free(place.name);
	place = cpa_symbols_variable(symbols, 2, 0x1234, false);
	assert_string_equal(place.name, "0x1234 [anonymous]");
}

/* An address that no symbol covers is not given the name of the nearest. */
static void test_outside_of_all_symbols(void **state)
{
	(void)state;
	symbols = cpa_symbols_open(&module, 1);
	place = cpa_symbols_code(symbols, 1, module.bias + 1, false);
	assert_non_null(strstr(place.name, "+0x1"));
	free(place.name);
	free(place.location);
	place = cpa_symbols_code(symbols, 1, UINT64_MAX, true);
	assert_non_null(strstr(place.name, "+0x"));
}

/*
 * End the children of process @whose, except this one, by @sig, as a damaged file would. Return
 * their number.
 */
static int end_children_of(int whose, int sig)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;
	int count = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		char path[300];
		int pid, parent;
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (fscanf(file, "%d (%*[^)]) %*c %d", &pid, &parent) == 2 && parent == whose &&
		    pid != getpid())
			count += !kill(pid, sig);
		fclose(file);
	}
	closedir(folder);
	return count;
}

static int end_children(int sig)
{
	return end_children_of(getpid(), sig);
}

/* A copy of this program in a new @folder; its path is @copy. */
static void make_copy(char *folder, char *copy)
{
	char command[6000];

	assert_non_null(mkdtemp(folder));
	sprintf(copy, "%s/program", folder);
	snprintf(command, sizeof(command), "cp '%s' %s", module.path, copy);
	assert_int_equal(system(command), 0);
}

static void remove_folder(const char *folder)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

/*
 * The process that reads a module's file may die: the module has no names, and the report says why.
 */
static void test_reader_dies(void **state)
{
	struct cpa_module two[2];
	struct cpa_place lost;
	char expected[64], folder[] = "/tmp/cpa-test.XXXXXX";

	(void)state;
	two[0] = two[1] = module;
	make_copy(folder, two[1].path);
	symbols = cpa_symbols_open(two, 2);
	place = cpa_symbols_code(symbols, 1, (uintptr_t)example_work, false);
	expect("example_work", "dump_maker.h:");
	assert_int_equal(end_children(SIGSEGV), 1);
	/* Names found before are known. */
	lost = cpa_symbols_code(symbols, 1, (uintptr_t)example_work, false);
	assert_string_equal(lost.name, "example_work");
	free(lost.name);
	free(lost.location);
	lost = cpa_symbols_code(symbols, 1, (uintptr_t)push, false);
	snprintf(expected, sizeof(expected), "test_report_symbols+0x%" PRIx64,
		 (uint64_t)(uintptr_t)push - module.bias);
	assert_string_equal(lost.name, expected);
	assert_string_equal(lost.location, "test_report_symbols");
	assert_non_null(strstr(cpa_symbols_trouble(symbols, 1), "ended with SIGSEGV"));
	free(lost.name);
	free(lost.location);
	free(place.name);
	free(place.location);
	assert_int_equal(end_children(SIGKILL), 0);
	/* Another reader reads the next module. */
	place = cpa_symbols_variable(symbols, 2, (uintptr_t)&example_pool, true);
	expect("example_pool", "dump_maker.h:");
	assert_null(cpa_symbols_trouble(symbols, 2));
	assert_int_equal(end_children(0), 1);
	cpa_symbols_update(symbols, two, 2);
	assert_int_equal(end_children(0), 1);
	cpa_symbols_update(symbols, two, 1);
	assert_int_equal(end_children(0), 0);
	remove_folder(folder);
}

/* Two rows of one file at two addresses: it is read once, and its problem is reported once. */
static void test_two_rows(void **state)
{
	struct cpa_module two[2];
	struct cpa_place other;

	(void)state;
	two[0] = two[1] = module;
	two[1].bias += 0x1000000;
	symbols = cpa_symbols_open(two, 2);
	place = cpa_symbols_code(symbols, 2, (uintptr_t)push + 0x1000000, false);
	expect("queue::push", "test_report_symbols.c:");
	/* The result counts for both rows. */
	assert_int_equal(end_children(SIGKILL), 1);
	other = cpa_symbols_code(symbols, 1, (uintptr_t)push, false);
	assert_string_equal(other.name, place.name);
	free(other.name);
	free(other.location);
	other = cpa_symbols_code(symbols, 2, (uintptr_t)example_work + 0x1000000, false);
	assert_non_null(strstr(other.name, "test_report_symbols+0x"));
	assert_non_null(cpa_symbols_trouble(symbols, 1));
	assert_null(cpa_symbols_trouble(symbols, 2));
	free(other.name);
	free(other.location);
}

/* The next report reads no file for names that the last one found, until the file changes. */
static void test_kept(void **state)
{
	char folder[] = "/tmp/cpa-test.XXXXXX", copy[64];
	struct cpa_place again;

	(void)state;
	make_copy(folder, copy);
	strcpy(module.path, copy);
	setenv("CPA_CACHE", folder, 1);
	symbols = cpa_symbols_open(&module, 1);
	place = cpa_symbols_code(symbols, 1, (uintptr_t)push, false);
	expect("queue::push", "test_report_symbols.c:");
	assert_int_equal(end_children(0), 1);
	cpa_symbols_close(symbols);

	symbols = cpa_symbols_open(&module, 1);
	again = cpa_symbols_code(symbols, 1, (uintptr_t)push, false);
	assert_string_equal(again.name, place.name);
	assert_string_equal(again.location, place.location);
	assert_int_equal(end_children(0), 0);
	free(again.name);
	free(again.location);
	again = cpa_symbols_code(symbols, 1, (uintptr_t)example_work, false);
	assert_string_equal(again.name, "example_work");
	assert_int_equal(end_children(0), 1);
	free(again.name);
	free(again.location);
	cpa_symbols_close(symbols);

	assert_int_equal(truncate(copy, 64), 0);
	symbols = cpa_symbols_open(&module, 1);
	again = cpa_symbols_code(symbols, 1, (uintptr_t)push, false);
	assert_non_null(strstr(again.name, "program+0x"));
	assert_non_null(cpa_symbols_trouble(symbols, 1));
	free(again.name);
	free(again.location);
	remove_folder(folder);
}

#define MODULES	  3u
#define QUESTIONS 400u
#define TRIES	  1000

/* The rest of @modules, and random questions about all. */
static void fill_questions(struct cpa_module *modules, struct cpa_symbols_question *questions)
{
	static const char *const paths[MODULES - 1] = { "/lib/x86_64-linux-gnu/libc.so.6",
							"/lib/x86_64-linux-gnu/libz.so.1" };
	uint64_t seed = rnd_seed();
	struct rnd r = rnd_sequence(seed, 0);

	for (unsigned i = 1; i < MODULES; i++) {
		modules[i].key = i + 1;
		strcpy(modules[i].path, paths[i - 1]);
	}
	for (unsigned i = 0; i < QUESTIONS; i++) {
		uint32_t row = 1 + (uint32_t)rnd_below(&r, MODULES);

		questions[i] = (struct cpa_symbols_question){
			.module = row,
			.address = modules[row - 1].bias + rnd_below(&r, 0x200000),
			.variable = rnd_percent(&r, 30),
			.flag = rnd_percent(&r, 50),
		};
	}
}

/* Many questions at once get the same answers as single ones, and need no reader afterwards. */
static void test_many_at_once(void **state)
{
	static struct cpa_symbols_question questions[QUESTIONS], sorted[QUESTIONS];
	struct cpa_module modules[MODULES] = { module };
	struct cpa_symbols *single;

	(void)state;
	fill_questions(modules, questions);
	memcpy(sorted, questions, sizeof(sorted));
	symbols = cpa_symbols_open(modules, MODULES);
	cpa_symbols_prepare(symbols, sorted, QUESTIONS);
	assert_int_equal(end_children(0), 0);
	single = cpa_symbols_open(modules, MODULES);
	for (unsigned i = 0; i < QUESTIONS; i++) {
		const struct cpa_symbols_question *q = &questions[i];
		struct cpa_place one, other;

		one = q->variable ? cpa_symbols_variable(single, q->module, q->address, q->flag) :
				    cpa_symbols_code(single, q->module, q->address, q->flag);
		other = q->variable ?
				cpa_symbols_variable(symbols, q->module, q->address, q->flag) :
				cpa_symbols_code(symbols, q->module, q->address, q->flag);
		assert_string_equal(one.name, other.name);
		assert_string_equal(one.location, other.location);
		free(one.name);
		free(one.location);
		free(other.name);
		free(other.location);
	}
	/* Only the other module's reader. */
	assert_int_equal(end_children(0), 1);
	cpa_symbols_close(single);
}

/*
 * Ask many questions at once while readers are killed. Return whether one died: its file then has
 * no names from there on, and the report says so; all other files have theirs.
 */
static bool lose_a_reader(const struct cpa_module *modules, struct cpa_symbols_question *questions)
{
	int killer = fork(), whole = 0, lost = 0;
	struct cpa_place answer;

	while (killer == 0)
		if (end_children_of(getppid(), SIGKILL))
			_exit(0);
	symbols = cpa_symbols_open(modules, MODULES);
	cpa_symbols_prepare(symbols, questions, QUESTIONS);
	kill(killer, SIGKILL);
	waitpid(killer, NULL, 0);
	for (uint32_t row = 1; row <= MODULES; row++) {
		const char *trouble = cpa_symbols_trouble(symbols, row);

		lost += trouble != NULL;
		if (trouble)
			assert_non_null(strstr(trouble, "ended with SIGKILL"));
	}
	answer = cpa_symbols_code(symbols, 1, (uintptr_t)push, false);
	whole = strcmp(answer.name, "queue::push") == 0;
	assert_int_equal(whole, cpa_symbols_trouble(symbols, 1) == NULL);
	free(answer.name);
	free(answer.location);
	cpa_symbols_close(symbols);
	symbols = NULL;
	return lost > 0;
}

static void test_reader_dies_at_many(void **state)
{
	static struct cpa_symbols_question questions[QUESTIONS];
	struct cpa_module modules[MODULES] = { module };

	(void)state;
	fill_questions(modules, questions);
	for (int i = 0; i < TRIES; i++)
		if (lose_a_reader(modules, questions))
			return;
	fail_msg("nobody could be killed in time in %d tries", TRIES);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_function),
		TEST(test_return_address),
		TEST(test_cpp_name),
		TEST(test_fortran_names),
		TEST(test_rust_and_d_names),
		TEST(test_variable),
		TEST(test_missing_file),
		TEST(test_part_of_a_variable),
		TEST(test_other_build_id),
		TEST(test_whole_part),
		TEST(test_offset_in_a_variable),
		TEST(test_special_file),
		TEST(test_build_id_of_wrong_size),
		TEST(test_not_an_elf_file),
		TEST(test_no_module),
		TEST(test_outside_of_all_symbols),
		TEST(test_reader_dies),
		TEST(test_two_rows),
		TEST(test_kept),
		TEST(test_many_at_once),
		TEST(test_reader_dies_at_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#line 1 "solver.f90"
__attribute__((noinline)) int smooth_(int value)
{
	return value + 6 + (int)example_pool.size;
}
