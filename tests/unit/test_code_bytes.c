/* SPDX-License-Identifier: MIT */
/* tests/unit/test_code_bytes.c - code from files: this program's, another build of it, and damaged ones */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/symbols/code_bytes.h"

#define HEADERS 2048 /* bytes in which each one is damaged */

static struct cpa_module module;
static uint8_t *image;
static size_t image_size;

/* Find the build-id and the bias of this program, which comes first. */
static int find_module(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	(void)data;
	module.bias = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const char *at = (const char *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		const char *end = at + info->dlpi_phdr[i].p_memsz;
		const Elf64_Nhdr *note;

		for (; info->dlpi_phdr[i].p_type == PT_NOTE && at < end;
		     at +=
		     sizeof(*note) + ((note->n_namesz + 3) & ~3u) + ((note->n_descsz + 3) & ~3u)) {
			note = (const Elf64_Nhdr *)at;
			if (note->n_type != NT_GNU_BUILD_ID)
				continue;
			module.build_id_size = note->n_descsz;
			memcpy(module.build_id, at + sizeof(*note) + ((note->n_namesz + 3) & ~3u),
			       note->n_descsz);
		}
	}
	return 1;
}

static int setup(void **state)
{
	FILE *file = fopen("/proc/self/exe", "re");

	(void)state;
	dl_iterate_phdr(find_module, NULL);
	if (!file || fseek(file, 0, SEEK_END))
		return -1;
	image_size = (size_t)ftell(file);
	image = malloc(image_size);
	rewind(file);
	if (!image || fread(image, 1, image_size, file) != image_size)
		return -1;
	return fclose(file);
}

static int teardown(void **state)
{
	(void)state;
	free(image);
	return 0;
}

/* How many bytes of this function are in a file of @size bytes of the image. */
static size_t read_of(size_t size, uint8_t *bytes, size_t wanted)
{
	char path[] = "/tmp/test_code_bytes.XXXXXX";
	int fd = mkstemp(path);
	struct cpa_code *code;
	size_t got = 0;

	assert_true(fd >= 0 && write(fd, image, size) == (ssize_t)size);
	memcpy(module.path, path, sizeof(path));
	code = cpa_code_open(&module);
	if (code)
		got = cpa_code_read(code, (uint64_t)(uintptr_t)read_of - module.bias, bytes,
				    wanted);
	cpa_code_close(code);
	close(fd);
	unlink(path);
	return got;
}

static void test_own(void **state)
{
	uint8_t bytes[64];

	(void)state;
	if (!module.build_id_size)
		skip();
	assert_int_equal(read_of(image_size, bytes, sizeof(bytes)), sizeof(bytes));
	assert_memory_equal(bytes, (const void *)(uintptr_t)read_of, sizeof(bytes));
	module.build_id[0] ^= 1;
	assert_int_equal(read_of(image_size, bytes, sizeof(bytes)), 0);
	module.build_id[0] ^= 1;
	memcpy(module.path, "/dev/null", sizeof("/dev/null"));
	assert_null(cpa_code_open(&module));
	memcpy(module.path, "relative", sizeof("relative"));
	assert_null(cpa_code_open(&module));
}

/* Cut anywhere, or with any byte of the headers changed: what is read is in the file. */
static void test_damaged(void **state)
{
	uint8_t bytes[64];

	(void)state;
	for (size_t size = 0; size < HEADERS; size += 7)
		assert_int_equal(read_of(size, bytes, sizeof(bytes)), 0);
	for (size_t i = 0; i < HEADERS; i++) {
		uint8_t is = image[i];

		image[i] = (uint8_t)~is;
		assert_true(read_of(HEADERS, bytes, sizeof(bytes)) <= sizeof(bytes));
		image[i] = is;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
