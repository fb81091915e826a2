/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_report_vdso.c - the kernel's functions in a process have no file, and are named while
 * their build-id is the same
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/symbols/symbols.h"

static struct cpa_module module;

/* Copy the build-id of the ELF file at @file, which is mapped as a whole. */
static void copy_build_id(const ElfW(Ehdr) * file)
{
	const char *base = (const char *)file;
	const ElfW(Phdr) *part = (const ElfW(Phdr) *)(base + file->e_phoff);

	module.build_id_size = 0;
	for (unsigned i = 0; i < file->e_phnum; i++) {
		const char *at = base + part[i].p_offset, *end = at + part[i].p_filesz;

		while (part[i].p_type == PT_NOTE && at < end) {
			const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
			const char *data = at + sizeof(*note) + (note->n_namesz + 3u) / 4 * 4;

			at = data + (note->n_descsz + 3u) / 4 * 4;
			if (note->n_type != NT_GNU_BUILD_ID || note->n_namesz != 4)
				continue;
			module.build_id_size = note->n_descsz;
			memcpy(module.build_id, data, note->n_descsz);
		}
	}
}

/* The name of the code at @address is @name, or begins with it. */
static void expect(uintptr_t address, const char *name)
{
	struct cpa_symbols *symbols = cpa_symbols_open(&module, 1);
	struct cpa_place place = cpa_symbols_code(symbols, 1, address, false);

	if (!place.name || strncmp(place.name, name, strlen(name)) != 0)
		fail_msg("%s, not %s", place.name ? place.name : "no name", name);
	assert_null(cpa_symbols_trouble(symbols, 1));
	free(place.name);
	free(place.location);
	cpa_symbols_close(symbols);
}

static void test_names(void **state)
{
	const ElfW(Ehdr) *vdso = (const ElfW(Ehdr) *)getauxval(AT_SYSINFO_EHDR);
	void *library = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	uintptr_t clock =
		library ? (uintptr_t)dlvsym(library, "__vdso_clock_gettime", "LINUX_2.6") : 0;

	(void)state;
	if (!vdso || !clock)
		skip();
	setenv("CPA_CACHE", "off", 1);
	module.key = 1;
	module.start = module.bias = (uintptr_t)vdso;
	module.end = module.start + (uint64_t)sysconf(_SC_PAGESIZE);
	strcpy(module.path, "linux-vdso.so.1");
	copy_build_id(vdso);
	expect(clock, "__vdso_clock_gettime");
	module.build_id[0] ^= 1;
	expect(clock, "linux-vdso.so.1+0x");
	dlclose(library);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_names) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
