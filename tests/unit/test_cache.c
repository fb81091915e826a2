/* SPDX-License-Identifier: MIT */
/* tests/unit/test_cache.c - names kept in files: complete and correct, or not used */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/symbols/cache.h"

#define WRITERS 4
#define TURNS	100
#define KEYS	200u
#define BIG	(7u << 20)

static char folder[32], program[64];
static struct cpa_module module;
static int fd;

static int setup(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/cpa-test.XXXXXX");
	assert_non_null(mkdtemp(folder));
	setenv("CPA_CACHE", folder, 1);
	fd = cpa_cache_folder();
	assert_true(fd >= 0);
	snprintf(program, sizeof(program), "%s/program", folder);
	close(open(program, O_CREAT | O_WRONLY, 0600));
	module = (struct cpa_module){ .key = 1, .build_id_size = 20, .build_id = { 0xab, 0xcd } };
	strcpy(module.path, program);
	return 0;
}

static int teardown(void **state)
{
	char command[64];

	(void)state;
	close(fd);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static struct cpa_cache_key key_of(uint64_t address)
{
	return (struct cpa_cache_key){ .address = address, .kind = CPA_CACHE_CODE };
}

static void add(struct cpa_cache *cache, uint64_t address, const char *debug)
{
	const struct cpa_cache_key key = key_of(address);
	char name[32], location[32];

	snprintf(name, sizeof(name), "function %llu", (unsigned long long)address);
	snprintf(location, sizeof(location), "file.c:%llu", (unsigned long long)address);
	cpa_cache_add(cache, &key, &(struct cpa_cache_entry){ name, location, NULL }, debug);
}

/* Return whether @address is known; if so, it must have the name given to add(). */
static bool knows(const struct cpa_cache *cache, uint64_t address)
{
	const struct cpa_cache_key key = key_of(address);
	const struct cpa_cache_entry *found = cpa_cache_find(cache, &key);
	char name[32];

	if (!found)
		return false;
	snprintf(name, sizeof(name), "function %llu", (unsigned long long)address);
	assert_string_equal(found->name, name);
	snprintf(name, sizeof(name), "file.c:%llu", (unsigned long long)address);
	assert_string_equal(found->location, name);
	return true;
}

static bool file_knows(uint64_t address)
{
	struct cpa_cache *cache = cpa_cache_open(fd, &module);
	bool known = knows(cache, address);

	cpa_cache_close(cache, true);
	return known;
}

static void keep(uint64_t address, const char *debug)
{
	struct cpa_cache *cache = cpa_cache_open(fd, &module);

	add(cache, address, debug);
	cpa_cache_close(cache, true);
}

/* Find the only file of names; @path is set to its path, or to that of no file. */
static void find_file(char *path, size_t room)
{
	DIR *all = opendir(folder);
	struct dirent *entry;

	path[0] = '\0';
	while ((entry = readdir(all)))
		if (strstr(entry->d_name, ".names")) {
			assert_string_equal(path, "");
			snprintf(path, room, "%s/%s", folder, entry->d_name);
		}
	closedir(all);
}

static void test_hit(void **state)
{
	struct cpa_cache_key key = { .address = 7, .kind = CPA_CACHE_WHOLE };
	struct cpa_cache *cache = cpa_cache_open(fd, &module);

	(void)state;
	add(cache, 1, NULL);
	add(cache, UINT64_MAX, NULL);
	cpa_cache_add(cache, &key, &(struct cpa_cache_entry){ NULL, NULL, NULL }, NULL);
	cpa_cache_close(cache, true);
	cache = cpa_cache_open(fd, &module);
	assert_true(knows(cache, 1));
	assert_true(knows(cache, UINT64_MAX));
	assert_non_null(cpa_cache_find(cache, &key));
	assert_null(cpa_cache_find(cache, &key)->name);
	assert_null(cpa_cache_find(cache, &key)->location);
	add(cache, 2, NULL);
	cpa_cache_close(cache, true);
	assert_true(file_knows(1));
	assert_true(file_knows(2));
}

static void test_miss(void **state)
{
	struct cpa_cache_key key = { .address = 1, .kind = CPA_CACHE_RETURN };
	struct cpa_cache *cache;
	char copy[64];

	(void)state;
	keep(1, NULL);
	assert_false(file_knows(2));
	cache = cpa_cache_open(fd, &module);
	assert_null(cpa_cache_find(cache, &key));
	cpa_cache_close(cache, true);
	module.build_id[19]++;
	assert_false(file_knows(1));
	module.build_id[19]--;
	/* Another file with the same build-id. */
	snprintf(copy, sizeof(copy), "%s/copy", folder);
	assert_int_equal(link(program, copy), 0);
	strcpy(module.path, copy);
	assert_false(file_knows(1));
}

/* As compilers of some languages leave it. */
static void test_without_build_id(void **state)
{
	(void)state;
	module.build_id_size = 0;
	keep(1, NULL);
	assert_true(file_knows(1));
	assert_int_equal(truncate(program, 1), 0);
	assert_false(file_knows(1));
	module.build_id_size = 1;
	keep(1, NULL);
	assert_true(file_knows(1));
}

static void test_not_kept(void **state)
{
	struct cpa_cache *cache = cpa_cache_open(fd, &module);
	char path[300];

	(void)state;
	add(cache, 1, NULL);
	assert_true(knows(cache, 1));
	cpa_cache_close(cache, false);
	find_file(path, sizeof(path));
	assert_string_equal(path, "");
	module.build_id_size = 4000;
	keep(1, NULL);
	module.build_id_size = 20;
	strcpy(module.path, "/tmp/a\nb");
	keep(1, NULL);
	find_file(path, sizeof(path));
	assert_string_equal(path, "");
}

static void test_changed_file(void **state)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_nsec = 5 } };

	(void)state;
	keep(1, NULL);
	assert_true(file_knows(1));
	utimensat(AT_FDCWD, program, times, 0);
	assert_false(file_knows(1));
	keep(1, NULL);
	assert_true(file_knows(1));
	assert_int_equal(truncate(program, 1), 0);
	utimensat(AT_FDCWD, program, times, 0);
	assert_false(file_knows(1));
	keep(1, NULL);
	unlink(program);
	assert_false(file_knows(1));
}

static void test_changed_debug_file(void **state)
{
	char debug[64];

	(void)state;
	snprintf(debug, sizeof(debug), "%s/program.debug", folder);
	close(open(debug, O_CREAT | O_WRONLY, 0600));
	keep(1, debug);
	assert_true(file_knows(1));
	/* It is still read after more was added. */
	keep(2, NULL);
	assert_true(file_knows(1));
	assert_int_equal(truncate(debug, 1), 0);
	assert_false(file_knows(1));
	keep(1, debug);
	assert_true(file_knows(1));
	unlink(debug);
	assert_false(file_knows(1));
}

static size_t load(const char *path, char *text, size_t room)
{
	int file = open(path, O_RDONLY);
	ssize_t size = read(file, text, room);

	close(file);
	assert_true(size > 0);
	return (size_t)size;
}

static void store(const char *path, const char *text, size_t size)
{
	int file = open(path, O_WRONLY | O_TRUNC | O_CREAT, 0600);

	assert_int_equal(write(file, text, size), size);
	close(file);
}

/* Change each byte, and each length. */
static void test_damaged(void **state)
{
	char path[300], text[1000];
	size_t size;

	(void)state;
	keep(1, NULL);
	find_file(path, sizeof(path));
	size = load(path, text, sizeof(text));
	for (size_t i = 0; i < size; i++) {
		text[i] ^= 1;
		store(path, text, size);
		assert_false(file_knows(1));
		text[i] ^= 1;
		store(path, text, i);
		assert_false(file_knows(1));
	}
	store(path, text, size);
	assert_true(file_knows(1));
}

/* Files that this program would never write. */
static void test_hostile(void **state)
{
	char path[300], elsewhere[64], text[1000];
	size_t size;

	(void)state;
	keep(1, NULL);
	find_file(path, sizeof(path));
	size = load(path, text, sizeof(text));
	assert_int_equal(chmod(path, 0666), 0);
	assert_false(file_knows(1));
	assert_int_equal(chmod(path, 0600), 0);
	assert_true(file_knows(1));
	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", folder);
	assert_int_equal(rename(path, elsewhere), 0);
	assert_int_equal(symlink(elsewhere, path), 0);
	assert_false(file_knows(1));
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_false(file_knows(1));
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_false(file_knows(1));
	keep(1, NULL);
	rmdir(path);
	store(path, text, size);
	assert_int_equal(truncate(path, (off_t)1 << 40), 0);
	assert_false(file_knows(1));
	/* It is replaced. */
	keep(1, NULL);
	assert_true(file_knows(1));
}

/* Control characters in a file do not reach a terminal. */
static void test_control_characters(void **state)
{
	const struct cpa_cache_key key = key_of(1);
	struct cpa_cache *cache = cpa_cache_open(fd, &module);

	(void)state;
	cpa_cache_add(cache, &key, &(struct cpa_cache_entry){ "a\033[2J\tb\n", "c\n", NULL }, NULL);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(cpa_cache_find(cache, &key)->name, "a?[2J?b?");
		assert_string_equal(cpa_cache_find(cache, &key)->location, "c?");
		cpa_cache_close(cache, true);
		cache = cpa_cache_open(fd, &module);
	}
	cpa_cache_close(cache, true);
}

/* Inlined functions are kept as they are, but for control characters. */
static void test_inlined(void **state)
{
	static const char fields[] = "f\tf.c:1\tg\t\th<\303\244>\th.c:2";
	const struct cpa_cache_key keys[] = { { .address = 1, .kind = CPA_CACHE_INLINED },
					      { .address = 2, .kind = CPA_CACHE_INLINED } };
	struct cpa_cache *cache = cpa_cache_open(fd, &module);

	(void)state;
	cpa_cache_add(cache, &keys[0], &(struct cpa_cache_entry){ "e", "e.c:3", fields }, NULL);
	cpa_cache_add(cache, &keys[1], &(struct cpa_cache_entry){ NULL, NULL, "\300\tx\n\ty\033" },
		      NULL);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(cpa_cache_find(cache, &keys[0])->name, "e");
		assert_string_equal(cpa_cache_find(cache, &keys[0])->location, "e.c:3");
		assert_string_equal(cpa_cache_find(cache, &keys[0])->inlined, fields);
		assert_null(cpa_cache_find(cache, &keys[1])->name);
		assert_string_equal(cpa_cache_find(cache, &keys[1])->inlined, "?\tx?\ty?");
		cpa_cache_close(cache, true);
		cache = cpa_cache_open(fd, &module);
	}
	cpa_cache_close(cache, true);
}

/* A folder that was removed, or never existed. */
static void test_unwritable(void **state)
{
	struct cpa_cache *cache;

	(void)state;
	cache = cpa_cache_open(-1, &module);
	add(cache, 1, NULL);
	assert_true(knows(cache, 1));
	cpa_cache_close(cache, true);
	teardown(state);
	fd = open("/", O_RDONLY | O_DIRECTORY);
	close(fd);
	cache = cpa_cache_open(fd, &module);
	add(cache, 1, NULL);
	assert_true(knows(cache, 1));
	cpa_cache_close(cache, true);
	setup(state);
}

static void write_often(unsigned writer)
{
	for (unsigned i = 0; i < TURNS; i++) {
		struct cpa_cache *cache = cpa_cache_open(fd, &module);

		for (unsigned k = 0; k < KEYS; k++)
			add(cache, (writer * TURNS + i) * KEYS + k, NULL);
		cpa_cache_close(cache, true);
	}
	_exit(0);
}

/* Whatever writers do concurrently, a reader finds one complete file. */
static void test_concurrent_writers(void **state)
{
	char path[300];
	int ended = 0;

	(void)state;
	keep(0, NULL);
	for (unsigned i = 0; i < WRITERS; i++)
		if (fork() == 0)
			write_often(i);
	while (ended < WRITERS) {
		struct cpa_cache *cache = cpa_cache_open(fd, &module);
		unsigned known = 0;

		assert_true(knows(cache, 0));
		for (unsigned k = 1; k < WRITERS * TURNS * KEYS; k++)
			known += knows(cache, k);
		/* The first writer's first key is 0, which was there before. */
		assert_true(known % KEYS == 0 || known % KEYS == KEYS - 1);
		cpa_cache_close(cache, true);
		ended += waitpid(-1, NULL, WNOHANG) > 0;
	}
	/* No other file is left. */
	find_file(path, sizeof(path));
	assert_string_not_equal(path, "");
}

static bool exists(const char *name)
{
	return faccessat(fd, name, F_OK, 0) == 0;
}

/* Make a file of @name that was used @age seconds after the epoch. */
static void make_old(const char *name, int age)
{
	const struct timespec times[2] = { { .tv_sec = age }, { .tv_sec = age } };
	int file = openat(fd, name, O_CREAT | O_WRONLY, 0600);

	assert_int_equal(posix_fallocate(file, 0, BIG), 0);
	futimens(file, times);
	close(file);
}

static void test_eviction(void **state)
{
	char name[32];

	(void)state;
	for (int i = 1; i <= 10; i++) {
		snprintf(name, sizeof(name), "%d.names", i);
		make_old(name, 1000 + i);
	}
	make_old("somebody's", 1);
	keep(1, NULL);
	assert_true(file_knows(1));
	assert_true(exists("somebody's"));
	assert_false(exists("1.names"));
	assert_true(exists("3.names"));
	assert_true(exists("10.names"));
	/* Reading counts as use. */
	keep(2, NULL);
	assert_true(exists("3.names"));
}

static void expect_folder(const char *expected)
{
	int found = cpa_cache_folder();
	char link[64], path[300];
	ssize_t size;

	assert_int_equal(found >= 0, expected != NULL);
	if (found < 0)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
	size = readlink(link, path, sizeof(path) - 1);
	assert_true(size > 0);
	path[size] = '\0';
	assert_string_equal(path, expected);
	close(found);
}

static void test_folders(void **state)
{
	char path[64], deep[80];
	struct stat st;

	(void)state;
	setenv("CPA_CACHE", "off", 1);
	expect_folder(NULL);
	unsetenv("CPA_CACHE");
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	expect_folder(NULL);
	setenv("HOME", "/no such folder", 1);
	expect_folder(NULL);
	setenv("HOME", "/proc/1", 1);
	expect_folder(NULL);
	setenv("HOME", folder, 1);
	snprintf(path, sizeof(path), "%s/.cache/cpa", folder);
	expect_folder(path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(chmod(path, 0770), 0);
	expect_folder(NULL);
	assert_int_equal(chmod(path, 0755), 0);
	expect_folder(path);
	setenv("XDG_CACHE_HOME", "relative", 1);
	expect_folder(path);
	snprintf(path, sizeof(path), "%s/cpa", folder);
	setenv("XDG_CACHE_HOME", folder, 1);
	expect_folder(path);
	snprintf(deep, sizeof(deep), "%s/a/b", folder);
	setenv("CPA_CACHE", deep, 1);
	expect_folder(NULL);
	if (geteuid() != 0)
		return;
	/* The folder of the user who became root must not be filled by root. */
	snprintf(deep, sizeof(deep), "%s/user", folder);
	assert_int_equal(mkdir(deep, 0700), 0);
	assert_int_equal(chown(deep, 1234, 1234), 0);
	setenv("CPA_CACHE", deep, 1);
	expect_folder(NULL);
	snprintf(path, sizeof(path), "%s/user/cpa", folder);
	setenv("CPA_CACHE", path, 1);
	expect_folder(NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_hit),	     TEST(test_miss),	      TEST(test_without_build_id),
		TEST(test_not_kept), TEST(test_changed_file), TEST(test_changed_debug_file),
		TEST(test_damaged),  TEST(test_hostile),      TEST(test_control_characters),
		TEST(test_inlined),  TEST(test_unwritable),   TEST(test_concurrent_writers),
		TEST(test_eviction), TEST(test_folders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
