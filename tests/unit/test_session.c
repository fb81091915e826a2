/* SPDX-License-Identifier: MIT */
/* tests/unit/test_session.c - shadow/store/session.h: the file, its space, and failures of both */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "shadow/store/copy_out.h"
#include "tests/unit/shadow_session.h"

#define MIB(n) (UINT64_C(n) << 20)

static char folder[] = "/tmp/cpa-test-session-XXXXXX";
static char file[64];

static int setup(void **state)
{
	(void)state;
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(file, sizeof(file), "%s/dump", folder);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	if (cpa_base)
		cpa_session_destroy();
	unlink(file);
	return rmdir(folder);
}

/* Allocate until there is no space; write to all of it. Return the bytes allocated. */
static uint64_t fill(uint64_t step)
{
	uint64_t at, sum = 0;

	while ((at = cpa_session_alloc(step, 64))) {
		memset(cpa_at(at), 0xa5, step);
		sum += step;
	}
	return sum;
}

/* Run @body in a child; return its exit status, or 128 + signal. */
static int in_child(int (*body)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(body());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void test_header(void **state)
{
	const struct cpa_header *h;

	(void)state;
	assert_int_equal(cpa_session_create(NULL, MIB(8), 100), 0);
	h = cpa_header();
	assert_memory_equal(h->magic, CPA_MAGIC, 8);
	assert_int_equal(h->format, CPA_FORMAT);
	assert_int_equal(h->byte_order, CPA_BYTE_ORDER);
	assert_int_equal(h->header_size, CPA_HEADER_SIZE);
	assert_true(sizeof(*h) <= CPA_HEADER_SIZE);
	assert_int_equal(h->tables, CPA_TABLES);
	assert_int_equal(h->slots, 100);
	assert_int_equal(h->limit, MIB(8));
	assert_true(h->used >= CPA_HEADER_SIZE);
	assert_int_equal(h->state, CPA_RUNNING);
}

/* Space is aligned, zero, disjoint, within the limit; then allocation fails, and errno is kept. */
static void test_alloc(void **state)
{
	uint64_t end = CPA_HEADER_SIZE;

	(void)state;
	assert_int_equal(cpa_session_create(NULL, MIB(8), 100), 0);
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t size = 1 + i * 37 % 900, align = UINT64_C(1) << i % 13;
		uint64_t at = cpa_session_alloc(size, align);

		assert_true(at >= end);
		assert_int_equal(at % align, 0);
		for (uint64_t k = 0; k < size; k++)
			assert_int_equal(((char *)cpa_at(at))[k], 0);
		memset(cpa_at(at), 0xff, size);
		end = at + size;
	}
	errno = EXDEV;
	fill(10000);
	assert_int_equal(cpa_session_alloc(UINT64_MAX - 100, 64), 0);
	assert_int_equal(cpa_session_alloc(MIB(8), 4096), 0);
	assert_int_equal(errno, EXDEV);
	assert_true(cpa_header()->used > MIB(8) - 20000);
	assert_true(cpa_header()->used <= MIB(8));
}

/* The data is in the file, which only its owner may read. */
static void test_file(void **state)
{
	struct cpa_header h;
	struct stat st;
	int fd;

	(void)state;
	assert_int_equal(cpa_session_create(file, MIB(8), 100), 0);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	cpa_header()->pid = 4711;
	fd = open(file, O_RDONLY);
	assert_int_equal(read(fd, &h, sizeof(h)), sizeof(h));
	close(fd);
	assert_memory_equal(h.magic, CPA_MAGIC, 8);
	assert_int_equal(h.pid, 4711);
	/* Space not allocated takes no blocks of the disk. */
	assert_true((uint64_t)st.st_blocks * 512 < MIB(2));
}

/* Of a table's chunk, however large, only requested rows and a few more take blocks. */
static void test_chunk(void **state)
{
	const uint64_t size = sizeof(struct cpa_object);
	uint32_t row = 0;
	struct stat before, after;

	(void)state;
	assert_int_equal(cpa_session_create(file, MIB(256), 100), 0);
	assert_int_equal(stat(file, &before), 0);
	while (row < 70000) {
		row = cpa_table_append(CPA_TABLE_OBJECTS);
		assert_true(row > 0);
		memset(cpa_row(CPA_TABLE_OBJECTS, row), 0xa5, size);
	}
	assert_int_equal(stat(file, &after), 0);
	/* The chunk has place for 65,536 rows, of which it has 4,480: an eighth has blocks. */
	assert_true(cpa_header()->used > 131008 * size);
	assert_true((uint64_t)(after.st_blocks - before.st_blocks) * 512 < 75000 * size);
}

/* No file is ever overwritten, no link followed. */
static void test_existing(void **state)
{
	char target[80];
	struct stat st;
	int fd = open(file, O_CREAT | O_WRONLY, 0644);

	(void)state;
	assert_int_equal(write(fd, "mine", 4), 4);
	close(fd);
	assert_int_equal(cpa_session_create(file, MIB(8), 100), -EEXIST);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_size, 4);
	unlink(file);

	snprintf(target, sizeof(target), "%s/target", folder);
	assert_int_equal(symlink(target, file), 0);
	assert_int_equal(cpa_session_create(file, MIB(8), 100), -EEXIST);
	assert_int_equal(access(target, F_OK), -1);
	assert_int_equal(lstat(file, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_null(cpa_base);
}

static void test_no_folder(void **state)
{
	(void)state;
	assert_int_equal(cpa_session_create("/nonexistent/dump", MIB(8), 100), -ENOENT);
	assert_int_equal(cpa_session_create("/proc/dump", MIB(8), 100), -ENOENT);
	assert_null(cpa_base);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/* The session takes a small part of the address space, so that the target keeps the rest. */
static int limited_address_space(void)
{
	struct rlimit r = { MIB(512), MIB(512) };

	if (setrlimit(RLIMIT_AS, &r) || cpa_session_create(file, MIB(4096), 256))
		return 1;
	if (cpa_header()->limit > MIB(64) || fill(1000) < MIB(16))
		return 2;
	return malloc(MIB(256)) ? 0 : 3;
}

static int tiny_address_space(void)
{
	struct rlimit r = { MIB(24), MIB(24) };

	if (setrlimit(RLIMIT_AS, &r))
		return 1;
	return cpa_session_create(file, MIB(4096), 256) == -ENOMEM ? 0 : 2;
}

static void test_limited_address_space(void **state)
{
	(void)state;
	assert_int_equal(in_child(limited_address_space), 0);
	unlink(file);
	assert_int_equal(in_child(tiny_address_space), 0);
	assert_int_equal(access(file, F_OK), -1);
}

#endif

/* A file size limit is an error here, not a later SIGXFSZ. */
static int limited_file_size(void)
{
	struct rlimit r = { MIB(3), MIB(3) };

	if (setrlimit(RLIMIT_FSIZE, &r) || cpa_session_create(file, MIB(64), 256))
		return 1;
	if (cpa_header()->limit > MIB(3))
		return 2;
	return fill(1000) >= MIB(2) ? 0 : 3;
}

static int tiny_file_size(void)
{
	struct rlimit r = { MIB(1), MIB(1) };

	if (setrlimit(RLIMIT_FSIZE, &r))
		return 1;
	return cpa_session_create(file, MIB(64), 256) < 0 ? 0 : 2;
}

static void test_limited_file_size(void **state)
{
	(void)state;
	assert_int_equal(in_child(limited_file_size), 0);
	unlink(file);
	assert_int_equal(in_child(tiny_file_size), 0);
	assert_int_equal(access(file, F_OK), -1);
}

enum { NO_MOUNT = 77 };

/* Mount a small file system over the folder, for this process alone. */
static bool mount_small(const char *options)
{
	return !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("cpa-test", folder, "tmpfs", 0, options);
}

/* The disk fills up: allocation fails; space allocated before can still be written. */
static int full_disk(void)
{
	uint64_t sum;

	if (!mount_small("size=3m"))
		return NO_MOUNT;
	if (cpa_session_create(file, MIB(64), 256))
		return 1;
	sum = fill(1000);
	if (sum < MIB(1) || sum > MIB(3))
		return 2;
	memset(cpa_at(CPA_HEADER_SIZE), 0x11, cpa_header()->used - CPA_HEADER_SIZE);
	return cpa_session_alloc(300000, 64) ? 3 : 0;
}

/* As full_disk(), for rows. */
static int full_disk_of_rows(void)
{
	const struct cpa_table *t;
	uint32_t row = 0, last;

	if (!mount_small("size=3m"))
		return NO_MOUNT;
	if (cpa_session_create(file, MIB(64), 256))
		return 1;
	t = cpa_table(CPA_TABLE_OBJECTS);
	do {
		last = row;
		row = cpa_table_append(CPA_TABLE_OBJECTS);
		if (row)
			memset(cpa_row(CPA_TABLE_OBJECTS, row), 0xa5, t->row_size);
	} while (row);
	if (last != t->used || last > t->usable || last < MIB(1) / t->row_size || t->refused != 1)
		return 2;
	return cpa_table_append(CPA_TABLE_OBJECTS) || t->refused != 2 ? 3 : 0;
}

/*
 * Rows of all tables and blocks in turn until there is no space: all that was allocated can be
 * written, and then copied.
 */
static int full_disk_of_all(void)
{
	uint32_t refused = 0;
	char *copy;

	if (!mount_small("size=8m"))
		return NO_MOUNT;
	if (cpa_session_create(file, MIB(256), 256))
		return 1;
	for (unsigned i = 0; refused < 2 * CPA_TABLES; i++) {
		enum cpa_table_id id = (enum cpa_table_id)(i % (CPA_TABLES + 1));
		const struct cpa_table *t = cpa_table(id);
		uint64_t size = id < CPA_TABLES ? t->row_size : 1 + i * 37 % 5000, at = 0;
		uint32_t row = id < CPA_TABLES ? cpa_table_append(id) : 0;

		if (id == CPA_TABLES)
			at = cpa_session_alloc(size, 64);
		if (row || at)
			memset(row ? cpa_row(id, row) : cpa_at(at), 0xa5, size);
		refused = row || at ? 0 : refused + 1;
		if (cpa_header()->reserved % 4096)
			return 2;
	}
	copy = mmap(NULL, cpa_header()->reserved, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cpa_session_copy_out(copy, cpa_header()->reserved);
	for (int id = 0; id < CPA_TABLES; id++) {
		const struct cpa_table *t = cpa_table((enum cpa_table_id)id);

		if (t->used < 100 || t->used > t->usable)
			return 3;
		for (uint32_t row = 1; row <= t->used; row++) {
			const char *r = cpa_row((enum cpa_table_id)id, row);

			if (memcmp(copy + (r - cpa_base), r, t->row_size) != 0)
				return 4;
		}
	}
	return memcmp(copy, cpa_base, CPA_HEADER_SIZE) != 0 ? 5 : 0;
}

/* All bytes between gaps, whose borders are page borders, are copied. */
static void test_gaps(void **state)
{
	enum { TABLES = 3 };
	static const enum cpa_table_id tables[TABLES] = { CPA_TABLE_SERIES, CPA_TABLE_POINTS,
							  CPA_TABLE_OBJECTS };
	uint64_t size, at = 0, end, gap;
	char *copy;

	(void)state;
	assert_int_equal(cpa_session_create(NULL, MIB(64), 100), 0);
	/* Each begins a chunk of some 100 KiB or more, and blocks lie between these. */
	for (unsigned i = 0; i < 200; i++) {
		enum cpa_table_id id = tables[i % TABLES];
		uint64_t block = cpa_session_alloc(100, 64);

		memset(cpa_row(id, cpa_table_append(id)), 0xa5, cpa_table(id)->row_size);
		memset(cpa_at(block), 0xa5, 100);
	}
	size = cpa_header()->reserved;
	copy = calloc(1, size);
	cpa_session_copy_out(copy, size);
	for (unsigned gaps = 0; at < size; at = end) {
		gap = cpa_tables_gap(at, &end);
		if (gap == UINT64_MAX) {
			assert_true(gaps >= 2);
			gap = end = size;
		}
		gaps++;
		assert_int_equal(gap % 4096, 0);
		assert_int_equal(end % 4096, 0);
		assert_memory_equal(copy + at, cpa_base + at, gap - at);
		for (uint64_t k = gap; k < end; k++)
			assert_int_equal(cpa_base[k], 0);
	}
	free(copy);
}

/* When the session's address space is used up, existing chunks still provide rows. */
static void test_place(void **state)
{
	const struct cpa_table *t;

	(void)state;
	assert_int_equal(cpa_session_create(NULL, MIB(8), 100), 0);
	t = cpa_table(CPA_TABLE_OBJECTS);
	while (t->used < 4033)
		assert_true(cpa_table_append(CPA_TABLE_OBJECTS) > 0);
	assert_true(t->usable < 8128);
	fill(1000);
	assert_int_equal(cpa_table_append(CPA_TABLE_EDGES), 0);
	while (t->used < 8128)
		assert_true(cpa_table_append(CPA_TABLE_OBJECTS) > 0);
	assert_int_equal(cpa_table_append(CPA_TABLE_OBJECTS), 0);
}

/* The disk is full from the start: no session, no file, no signal. */
static int no_disk(void)
{
	int ret;

	if (!mount_small("size=32k"))
		return NO_MOUNT;
	ret = cpa_session_create(file, MIB(64), 256);
	if (ret != -ENOSPC)
		return 1;
	return access(file, F_OK) ? 0 : 2;
}

static void test_full_disk(void **state)
{
	int ret = in_child(full_disk);

	(void)state;
	if (ret == NO_MOUNT)
		skip();
	assert_int_equal(ret, 0);
	assert_int_equal(in_child(full_disk_of_rows), 0);
	assert_int_equal(in_child(full_disk_of_all), 0);
	assert_int_equal(in_child(no_disk), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_header, setup, teardown),
		cmocka_unit_test_setup_teardown(test_alloc, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_chunk, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gaps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_place, setup, teardown),
		cmocka_unit_test_setup_teardown(test_existing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_folder, setup, teardown),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
		cmocka_unit_test_setup_teardown(test_limited_address_space, setup, teardown),
#endif
		cmocka_unit_test_setup_teardown(test_limited_file_size, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_disk, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
