/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_symbol.c - preload/libc/symbol.h finds what the loader finds
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

/* NOLINTNEXTLINE(bugprone-suspicious-include): its static functions are tested. */
#include "preload/libc/symbol.c"

static struct cpa_image image_of(void *handle)
{
	struct link_map *map = NULL;

	assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
	return (struct cpa_image){ map->l_addr, map->l_ld };
}

struct file {
	int fd;
	Elf *elf;
	size_t names; /* section of the symbols' names */
	Elf_Data *symbols, *numbers;
	const char *version[4096];
};

static void read_versions(struct file *f, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	int at = 0;

	for (unsigned i = 0; i < header->sh_info; i++) {
		GElf_Verdef def;
		GElf_Verdaux name;

		assert_non_null(gelf_getverdef(data, at, &def));
		assert_non_null(gelf_getverdaux(data, at + (int)def.vd_aux, &name));
		f->version[def.vd_ndx] = elf_strptr(f->elf, header->sh_link, name.vda_name);
		at += (int)def.vd_next;
	}
}

/* Read the file's symbols by its sections, which the loader does not use. */
static void read_file(struct file *f, const char *path)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	*f = (struct file){ .fd = open(path, O_RDONLY) };
	assert_true(f->fd >= 0 && elf_version(EV_CURRENT) != EV_NONE);
	f->elf = elf_begin(f->fd, ELF_C_READ, NULL);
	while ((section = elf_nextscn(f->elf, section))) {
		assert_non_null(gelf_getshdr(section, &header));
		if (header.sh_type == SHT_DYNSYM) {
			f->symbols = elf_getdata(section, NULL);
			f->names = header.sh_link;
		} else if (header.sh_type == SHT_GNU_versym) {
			f->numbers = elf_getdata(section, NULL);
		} else if (header.sh_type == SHT_GNU_verdef) {
			read_versions(f, section, &header);
		}
	}
	assert_non_null(f->symbols);
	assert_non_null(f->numbers);
}

/* All functions of a library, by name, and by name and version; dlsym() must find the same. */
static unsigned check_library(const char *library)
{
	void *handle = dlopen(library, RTLD_NOW);
	struct cpa_image image = image_of(handle);
	const struct tables t = tables_of(&image);
	struct link_map *map = NULL;
	struct file f;
	GElf_Sym s;
	unsigned found = 0;

	assert_int_equal(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
	read_file(&f, map->l_name);
	for (int i = 1; gelf_getsym(f.symbols, i, &s); i++) {
		const char *name = elf_strptr(f.elf, f.names, s.st_name), *version;
		unsigned type = GELF_ST_TYPE(s.st_info);
		GElf_Versym number;

		gelf_getversym(f.numbers, i, &number);
		version = f.version[number & 0x7fff];
		if (s.st_shndx == SHN_UNDEF) { /* defined elsewhere */
			assert_null(cpa_symbol_in(&image, name, NULL));
			continue;
		}
		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || !version ||
		    (number & ~HIDDEN) <= UNNAMED)
			continue;
		assert_ptr_equal(cpa_symbol_in(&image, name, version),
				 dlvsym(handle, name, version));
		assert_null(cpa_symbol_in(&image, name, "NO_SUCH_VERSION"));
		/* Both hash tables give the same result. */
		assert_true(!t.sysv_hash ||
			    find_sysv(&t, name, version) == find_gnu(&t, name, version));
		/* A hidden one may have the name of a default one, or not. */
		if (!(number & 0x8000))
			assert_ptr_equal(cpa_symbol_in(&image, name, NULL), dlsym(handle, name));
		found++;
	}
	elf_end(f.elf);
	close(f.fd);
	assert_null(cpa_symbol_in(&image, "no_such_function", NULL));
	return found;
}

static void test_libraries(void **state)
{
	(void)state;
	assert_true(check_library("libc.so.6") > 1000);
	assert_true(check_library("libm.so.6") > 100);
}

/* Of several versions without one asked for, the default one. */
static void test_default_version(void **state)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW);
	struct cpa_image image = image_of(libc);

	(void)state;
	assert_ptr_equal(cpa_symbol_in(&image, "pthread_cond_wait", NULL),
			 dlvsym(libc, "pthread_cond_wait", "GLIBC_2.3.2"));
	assert_ptr_not_equal(cpa_symbol_in(&image, "pthread_cond_wait", "GLIBC_2.2.5"),
			     cpa_symbol_in(&image, "pthread_cond_wait", "GLIBC_2.3.2"));
}

/* A module whose dynamic section was not relocated; in most kernels with the older hash table. */
static void test_vdso(void **state)
{
	const ElfW(Ehdr) *file = (const ElfW(Ehdr) *)getauxval(AT_SYSINFO_EHDR);
	const ElfW(Phdr) * program;
	struct cpa_image image = { .base = (uint64_t)file };
	int (*clock)(clockid_t, struct timespec *);
	struct timespec t;

	(void)state;
	if (!file)
		skip();
	program = (const ElfW(Phdr) *)((const char *)file + file->e_phoff);
	for (int i = 0; i < file->e_phnum; i++)
		if (program[i].p_type == PT_DYNAMIC)
			image.dynamic =
				(const ElfW(Dyn) *)((const char *)file + program[i].p_vaddr);
	assert_non_null(image.dynamic);
	*(void **)&clock = cpa_symbol_in(&image, "__vdso_clock_gettime", "LINUX_2.6");
	assert_non_null(clock);
	assert_int_equal(clock(CLOCK_MONOTONIC, &t), 0);
	assert_null(cpa_symbol_in(&image, "__vdso_clock_gettime", "LINUX_9"));
}

/* The modules behind this one, up to the C library, as RTLD_NEXT searches them. */
static void test_next(void **state)
{
	(void)state;
	assert_ptr_equal(cpa_symbol_next("pthread_mutex_lock", NULL),
			 dlsym(RTLD_NEXT, "pthread_mutex_lock"));
	assert_ptr_equal(cpa_symbol_next("fork", NULL), dlsym(RTLD_NEXT, "fork"));
	assert_null(cpa_symbol_next("no_such_function", NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libraries),
		cmocka_unit_test(test_default_version),
		cmocka_unit_test(test_vdso),
		cmocka_unit_test(test_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
