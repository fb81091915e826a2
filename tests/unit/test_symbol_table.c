/* SPDX-License-Identifier: MIT */
/* tests/unit/test_symbol_table.c - symbols that cover addresses, compared with slow searches */
#include <elfutils/libdwfl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/symbols/symbol_table.h"
#include "tests/property/random.h"

#define PROBES 3000u

static Dwfl *dwfl;
static Dwfl_Module *module;
static struct cpa_symbol_table *table;
static const char *self;

static void open_file(const char *path)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	GElf_Addr bias;

	dwfl = dwfl_begin(&callbacks);
	module = dwfl_report_offline(dwfl, path, path, -1);
	assert_non_null(module);
	assert_int_equal(dwfl_report_end(dwfl, NULL, NULL), 0);
	assert_non_null(dwfl_module_getelf(module, &bias));
	table = cpa_symbol_table_open(module);
}

static void close_file(void)
{
	cpa_symbol_table_close(table);
	dwfl_end(dwfl);
}

struct choice {
	const char *name;
	GElf_Addr start;
	GElf_Xword size;
	int bind;
};

static int rank(int bind)
{
	return bind == STB_LOCAL ? 0 : bind == STB_WEAK ? 1 : 2;
}

/* Return whether @a is better by the rules of symbol_table.h; @b comes first in the file. */
static bool is_better(const struct choice *a, const struct choice *b)
{
	if (!b->name || (rank(a->bind) == 0) != (rank(b->bind) == 0))
		return !b->name || rank(b->bind) == 0;
	if (a->start != b->start)
		return a->start > b->start;
	if (a->bind != b->bind)
		return rank(a->bind) > rank(b->bind);
	return a->size < b->size;
}

/* The slow way: one look at each symbol. */
static struct choice search(GElf_Addr address)
{
	struct choice best = { 0 };

	for (int i = 0; i < dwfl_module_getsymtab(module); i++) {
		GElf_Sym symbol;
		struct choice one;
		int type;

		one.name =
			dwfl_module_getsym_info(module, i, &symbol, &one.start, NULL, NULL, NULL);
		type = GELF_ST_TYPE(symbol.st_info);
		one.bind = GELF_ST_BIND(symbol.st_info);
		one.size = symbol.st_size ? symbol.st_size : 1;
		if (!one.name || !one.name[0] || symbol.st_shndx == SHN_UNDEF ||
		    type == STT_SECTION || type == STT_FILE || type == STT_TLS ||
		    address < one.start || address - one.start >= one.size)
			continue;
		if (is_better(&one, &best))
			best = one;
	}
	return best;
}

static void compare(GElf_Addr address)
{
	struct choice slow = search(address);
	GElf_Off offset = 0;
	const char *name = cpa_symbol_table_find(table, address, &offset);

	if (!name != !slow.name || (name && strcmp(name, slow.name) != 0))
		fail_msg("0x%llx: %s, expected %s", (unsigned long long)address,
			 name ? name : "none", slow.name ? slow.name : "none");
	if (name)
		assert_int_equal(offset, address - slow.start);
}

/* At the edges of random symbols, and anywhere. */
static void compare_all(const char *path)
{
	uint64_t seed = rnd_seed();
	struct rnd r = rnd_sequence(seed, 0);
	int symbols;

	open_file(path);
	symbols = dwfl_module_getsymtab(module);
	assert_true(symbols > 0);
	for (unsigned i = 0; i < PROBES; i++) {
		GElf_Sym symbol;
		GElf_Addr start = 0;

		dwfl_module_getsym_info(module, (int)rnd_below(&r, (uint64_t)symbols), &symbol,
					&start, NULL, NULL, NULL);
		compare(start + rnd_below(&r, 3) * (symbol.st_size / 2) - rnd_below(&r, 2));
	}
	compare(0);
	compare(UINT64_MAX);
	close_file();
}

static void test_this_program(void **state)
{
	(void)state;
	compare_all(self);
}

/* The C library has many names for one function, and one symbol for many versions. */
static void test_c_library(void **state)
{
	(void)state;
	compare_all("/lib/x86_64-linux-gnu/libc.so.6");
}

/* The result of libdwfl in a file whose symbols hardly overlap. */
static void test_as_libdwfl(void **state)
{
	int symbols;

	(void)state;
	open_file(self);
	symbols = dwfl_module_getsymtab(module);
	for (int i = 0; i < symbols; i++) {
		GElf_Sym symbol, found;
		GElf_Off offset, expected;
		GElf_Addr start;
		const char *name;

		dwfl_module_getsym_info(module, i, &symbol, &start, NULL, NULL, NULL);
		if (symbol.st_size < 2 || GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
			continue;
		name = dwfl_module_addrinfo(module, start + 1, &expected, &found, NULL, NULL, NULL);
		assert_string_equal(cpa_symbol_table_find(table, start + 1, &offset), name);
		assert_int_equal(offset, expected);
	}
	close_file();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_this_program),
		cmocka_unit_test(test_c_library),
		cmocka_unit_test(test_as_libdwfl),
	};

	(void)argc;
	self = argv[0];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
