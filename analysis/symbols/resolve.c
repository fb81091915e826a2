/* SPDX-License-Identifier: MIT */
/* analysis/symbols/resolve.c - find names of addresses by reading modules' files in this process */
#include "analysis/symbols/resolve.h"
#include "analysis/util/format.h"

#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/util/printable.h"
#include "analysis/symbols/demangle.h"
#include "analysis/symbols/inlined.h"
#include "analysis/symbols/symbol_table.h"
#include "analysis/symbols/variables.h"
#include "analysis/symbols/vdso.h"

#define PAGE 4096u /* bytes of code that one name stands for where no unwind table has it */

struct module {
	struct cpa_module row;
	char *path;	   /* printable */
	const char *label; /* last part of path */
	bool asked;
	const char *why; /* why its file was not opened; NULL: it was, or was not needed */
	char *trouble;
	Dwfl *dwfl; /* NULL: no names */
	Dwfl_Module *file;
	struct cpa_symbol_table *symbols; /* NULL until the first question */
	struct cpa_variables *variables;
};

struct cpa_resolver {
	uint32_t count;
	struct module *module; /* of rows 1 and up */
};

static void open_module(struct module *module, const struct cpa_module *row)
{
	*module = (struct module){ .row = *row };
	module->path = cpa_printable(row->path, sizeof(row->path));
	module->label = cpa_printable_base(module->path);
}

static void close_module(struct module *module)
{
	cpa_variables_close(module->variables);
	cpa_symbol_table_close(module->symbols);
	if (module->dwfl)
		dwfl_end(module->dwfl);
	free(module->path);
	free(module->trouble);
}

static bool is_same(const struct cpa_module *a, const struct cpa_module *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

bool cpa_resolver_asks_servers(void)
{
	const char *servers = getenv("DEBUGINFOD_URLS");

	return servers && *servers;
}

struct cpa_resolver *cpa_resolver_open(void)
{
	return xcalloc(1, sizeof(struct cpa_resolver));
}

bool cpa_resolver_differs(const struct cpa_resolver *resolver, const struct cpa_module *modules,
			  uint32_t count)
{
	if (count != resolver->count)
		return true;
	for (uint32_t i = 0; i < count; i++)
		if (!is_same(&resolver->module[i].row, &modules[i]))
			return true;
	return false;
}

void cpa_resolver_update(struct cpa_resolver *resolver, const struct cpa_module *modules,
			 uint32_t count)
{
	uint32_t before = resolver->count;

	for (uint32_t i = count; i < before; i++)
		close_module(&resolver->module[i]);
	resolver->module = xrealloc(resolver->module, (count + 1) * sizeof(*resolver->module));
	resolver->count = count;
	for (uint32_t i = 0; i < count; i++) {
		struct module *module = &resolver->module[i];

		if (i < before && is_same(&module->row, &modules[i]))
			continue;
		if (i < before)
			close_module(module);
		open_module(module, &modules[i]);
	}
}

void cpa_resolver_close(struct cpa_resolver *resolver)
{
	for (uint32_t i = 0; i < resolver->count; i++)
		close_module(&resolver->module[i]);
	free(resolver->module);
	free(resolver);
}

/* Report the file of @module to libdwfl and compare build-ids. Return NULL, or the problem. */
static const char *open_file(struct module *module)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	const struct cpa_module *row = &module->row;
	const unsigned char *id;
	char path[sizeof(row->path) + 1] = "";
	int size, fd = cpa_vdso_is(module->label) ? cpa_vdso_open() : -1;
	GElf_Addr where, bias;
	struct stat st;

	memcpy(path, row->path, sizeof(row->path));
	/* A path cut at its beginning is relative; opening a special file could block. */
	if (fd < 0 && path[0] != '/')
		return "has no file that can be opened";
	if (fd < 0 && (stat(path, &st) < 0 || !S_ISREG(st.st_mode)))
		return "no longer exists";
	module->dwfl = dwfl_begin(&callbacks);
	module->file = module->dwfl ? dwfl_report_offline(module->dwfl, module->label, path, fd) :
				      NULL;
	if (!module->file && fd >= 0)
		close(fd); /* else libdwfl does */
	if (!module->dwfl)
		return "could not be read";
	if (!module->file || dwfl_report_end(module->dwfl, NULL, NULL) != 0)
		return "is not a readable ELF file";
	if (!dwfl_module_getelf(module->file, &bias))
		return "is not a readable ELF file";
	if (row->build_id_size == 0)
		return fd < 0 ? NULL : "has no build-id";
	size = dwfl_module_build_id(module->file, &id, &where);
	if (size < 0 || (uint32_t)size != row->build_id_size ||
	    row->build_id_size > sizeof(row->build_id) ||
	    memcmp(id, row->build_id, row->build_id_size) != 0)
		return "was replaced since the run (its build-id differs)";
	return NULL;
}

/* The module in row @row; NULL: none. */
static struct module *module_at(const struct cpa_resolver *resolver, uint32_t row)
{
	return row == 0 || row > resolver->count || resolver->module[row - 1].row.key == 0 ?
		       NULL :
		       &resolver->module[row - 1];
}

static void give_up(struct module *module, const char *why)
{
	module->asked = true;
	if (module->dwfl)
		dwfl_end(module->dwfl);
	module->dwfl = NULL;
	module->file = NULL;
	/* That of another kernel has no file. */
	if (!module->trouble && !cpa_vdso_is(module->label))
		module->trouble =
			cpa_format_text("%s %s: its functions and variables appear as %s+offset.",
					module->path, why, module->label);
}

void cpa_resolver_give_up(struct cpa_resolver *resolver, uint32_t row, const char *why)
{
	give_up(module_at(resolver, row), why);
}

bool cpa_resolver_has_file(const struct cpa_resolver *resolver, uint32_t row)
{
	const struct module *module = module_at(resolver, row);

	return module && module->row.path[0] == '/' && (!module->asked || module->file);
}

const struct cpa_module *cpa_resolver_row(const struct cpa_resolver *resolver, uint32_t row)
{
	const struct module *module = module_at(resolver, row);

	return module ? &module->row : NULL;
}

const char *cpa_resolver_debug_file(const struct cpa_resolver *resolver, uint32_t row)
{
	const struct module *module = module_at(resolver, row);
	const char *debug = NULL;

	if (module && module->file)
		dwfl_module_info(module->file, NULL, NULL, NULL, NULL, NULL, NULL, &debug);
	return debug;
}

/* As module_at(), and open the module's file if possible. */
static struct module *find_module(struct cpa_resolver *resolver, uint32_t row)
{
	struct module *module = module_at(resolver, row);
	const char *why;

	if (!module || module->asked)
		return module;
	module->asked = true;
	why = open_file(module);
	module->why = why;
	if (why)
		give_up(module, why);
	return module;
}

const char *cpa_resolver_why(const struct cpa_resolver *resolver, uint32_t row)
{
	const struct module *module = module_at(resolver, row);

	return module ? module->why : NULL;
}

const char *cpa_resolver_trouble(const struct cpa_resolver *resolver, uint32_t module)
{
	return resolver->module[module - 1].trouble;
}

/* The symbol that covers @address (in libdwfl's address space), and the offset in it. */
static const char *find_symbol(struct module *module, GElf_Addr address, GElf_Off *offset)
{
	if (!module->symbols)
		module->symbols = cpa_symbol_table_open(module->file);
	return cpa_symbol_table_find(module->symbols, address, offset);
}

void cpa_resolver_complete(const struct cpa_resolver *resolver, uint32_t row, uint64_t address,
			   struct cpa_place *place)
{
	const struct module *module = module_at(resolver, row);

	place->nameless = module && !place->name && !module->trouble;
	if (!module && !place->name)
		place->name = cpa_format_text("0x%" PRIx64 " [anonymous]", address);
	else if (!place->name)
		place->name =
			cpa_format_text("%s+0x%" PRIx64, module->label, address - module->row.bias);
	if (module && !place->location)
		place->location = xstrdup(module->label);
}

/*
 * The line of the code at @address in @unit. @begins: that of the function which begins there, else of what is
 * there, which may be inlined. NULL: not known.
 */
static Dwarf_Line *line_in(Dwarf_Die *unit, Dwarf_Addr address, bool begins)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);
	Dwarf_Lines *lines;
	size_t count, low = 0, high;
	Dwarf_Addr at;

	if (!begins || !line || dwarf_lineaddr(line, &at) != 0 || at != address ||
	    dwarf_getsrclines(unit, &lines, &count) != 0)
		return line;
	high = count; /* of the rows at the address the first one is of the function itself */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (dwarf_lineaddr(dwarf_onesrcline(lines, middle), &at) != 0)
			return line;
		if (at < address)
			low = middle + 1;
		else
			high = middle;
	}
	while (low < count) {
		Dwarf_Line *first = dwarf_onesrcline(lines, low++);
		bool ends = false;
		int number;

		if (dwarf_lineendsequence(first, &ends) == 0 && !ends &&
		    dwarf_lineno(first, &number) == 0 && number > 0)
			return first;
		if (first == line)
			break;
	}
	return line;
}

/*
 * As dwfl_module_addrdie() for debug information without a table of addresses (.debug_aranges), which clang
 * leaves out: each compilation unit is asked. NULL: not known.
 */
static Dwarf_Die *search_units(const struct module *module, GElf_Addr address, Dwarf_Addr *bias)
{
	Dwarf_Die *unit = NULL;
	Dwarf *dwarf = dwfl_module_getdwarf(module->file, bias);
	Dwarf_Aranges *table;
	size_t count;

	if (!dwarf || dwarf_getaranges(dwarf, &table, &count) != 0 || count)
		return NULL;
	while ((unit = dwfl_module_nextcu(module->file, unit, bias)))
		if (dwarf_haspc(unit, address - *bias) > 0)
			return unit;
	return NULL;
}

/*
 * "file:line" of the code at @address (in libdwfl's address space), which the caller frees; NULL:
 * not known. @begins: as of line_in().
 */
static char *locate_code(const struct module *module, GElf_Addr address, bool begins)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = dwfl_module_addrdie(module->file, address, &bias);
	Dwarf_Line *line = NULL;
	const char *file = NULL;
	char *text, *location;
	int number = 0;

	if (!unit)
		unit = search_units(module, address, &bias);
	if (unit)
		line = line_in(unit, address - bias, begins);
	if (line && dwarf_lineno(line, &number) == 0)
		file = dwarf_linesrc(line, NULL, NULL);
	if (!file)
		return NULL;
	text = cpa_printable(file, SIZE_MAX);
	location = number > 0 ? cpa_format_text("%s:%d", text, number) : xstrdup(text);
	free(text);
	return location;
}

/*
 * As find_module(), and convert @address to libdwfl's address space. NULL: the file gives no names.
 */
static struct module *find_address(struct cpa_resolver *resolver, uint32_t row, uint64_t address,
				   GElf_Addr *at)
{
	struct module *module = find_module(resolver, row);
	GElf_Addr bias;

	if (!module || !module->file || !dwfl_module_getelf(module->file, &bias))
		return NULL;
	*at = address - module->row.bias + bias;
	return module;
}

/* Whether the unwind tables of @module have a function that begins at @address. */
static bool begins_at(const struct module *module, GElf_Addr address)
{
	GElf_Addr bias;
	Dwarf_CFI *tables = dwfl_module_eh_cfi(module->file, &bias);
	Dwarf_Addr start = 0, end = 0;
	Dwarf_Frame *frame;

	if (!tables || dwarf_cfi_addrframe(tables, address - bias, &frame) != 0)
		return false;
	dwarf_frame_info(frame, &start, &end, NULL);
	free(frame);
	return start == address - bias;
}

/*
 * Whether @address stands for a page of code that no unwind table covers, as of a compiler that was
 * linked in, and several symbols may lie in the page: which one ran is not known.
 */
static bool is_page(struct module *module, GElf_Addr address)
{
	GElf_Off first = 0, last = 0;
	const char *name, *other;

	if (address % PAGE || begins_at(module, address))
		return false;
	name = find_symbol(module, address, &first);
	other = find_symbol(module, address + PAGE - 1, &last);
	return name != other || last - first != PAGE - 1;
}

static struct cpa_place code_at(struct cpa_resolver *resolver, uint32_t row, uint64_t address,
				bool function)
{
	GElf_Addr at;
	struct module *module = find_address(resolver, row, address, &at);
	struct cpa_place place = { 0 };
	GElf_Off offset;
	const char *name;

	if (!module)
		return place;
	if (function && is_page(module, at)) {
		place.name = cpa_format_text("%s+0x%" PRIx64 " (page)", module->label,
					     address - module->row.bias);
		return place;
	}
	place.location = locate_code(module, at, function);
	name = find_symbol(module, at, &offset);
	if (name)
		place.name = cpa_demangle(name, place.location);
	return place;
}

struct cpa_place cpa_resolver_code(struct cpa_resolver *resolver, uint32_t row, uint64_t address,
				   bool returned)
{
	return code_at(resolver, row, address - returned, !returned);
}

struct cpa_place cpa_resolver_inlined(struct cpa_resolver *resolver, uint32_t row, uint64_t address)
{
	struct cpa_place place = code_at(resolver, row, address, false);
	GElf_Addr at;
	struct module *module = find_address(resolver, row, address, &at);

	if (module)
		place.inlined = cpa_inlined_at(module->file, at);
	return place;
}

/* The ELF symbol has the name with its namespaces; DWARF has the member and the declaration. */
struct cpa_place cpa_resolver_variable(struct cpa_resolver *resolver, uint32_t row,
				       uint64_t address, bool whole)
{
	GElf_Addr at;
	struct module *module = find_address(resolver, row, address, &at);
	struct cpa_variable found = { 0 };
	struct cpa_place place = { 0 };
	GElf_Off offset = 0;
	const char *symbol;
	char *name;

	if (!module)
		return place;
	symbol = find_symbol(module, at, &offset);
	if (!module->variables)
		module->variables = cpa_variables_open(module->file);
	cpa_variables_find(module->variables, address - module->row.bias, whole, &found);
	if (!found.name && !symbol)
		return place;
	/* A static variable inside a function has a symbol such as "lock.0". */
	name = found.name && (!symbol || symbol[0] != '_') ? xstrdup(found.name) :
							     cpa_demangle(symbol, found.location);
	if (found.name)
		place.name = cpa_format_text("%s%s", name, found.part);
	else if (offset)
		place.name = cpa_format_text("%s+0x%" PRIx64, name, offset);
	else
		place.name = xstrdup(name);
	free(name);
	if (found.location)
		place.location = xstrdup(found.location);
	cpa_variable_fini(&found);
	return place;
}
