/* SPDX-License-Identifier: MIT */
/* analysis/symbols.c - names of addresses, from the modules' files */
#include "analysis/symbols.h"
#include "analysis/format.h"

#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <libiberty/demangle.h>
#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/printable.h"
#include "analysis/variables.h"

struct module {
	struct cpa_module row;
	char *path;	   /* printable */
	const char *label; /* the last part of path */
	bool asked;
	char *trouble;
	Dwfl *dwfl; /* NULL without names */
	Dwfl_Module *file;
	struct cpa_variables *variables; /* NULL until asked for */
};

struct cpa_symbols {
	uint32_t count;
	struct module *module; /* of row 1 and on */
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
	if (module->dwfl)
		dwfl_end(module->dwfl);
	free(module->path);
	free(module->trouble);
}

struct cpa_symbols *cpa_symbols_open(const struct cpa_module *modules, uint32_t count)
{
	return cpa_symbols_update(NULL, modules, count);
}

struct cpa_symbols *cpa_symbols_update(struct cpa_symbols *symbols,
				       const struct cpa_module *modules, uint32_t count)
{
	uint32_t before = symbols ? symbols->count : 0;

	if (!symbols) {
		/* libdw would ask these servers for what it does not find. */
		unsetenv("DEBUGINFOD_URLS");
		symbols = xcalloc(1, sizeof(*symbols));
	}
	for (uint32_t i = count; i < before; i++)
		close_module(&symbols->module[i]);
	symbols->module = xrealloc(symbols->module, (count + 1) * sizeof(*symbols->module));
	symbols->count = count;
	for (uint32_t i = 0; i < count; i++) {
		struct module *module = &symbols->module[i];

		if (i < before && memcmp(&module->row, &modules[i], sizeof(module->row)) == 0)
			continue;
		if (i < before)
			close_module(module);
		open_module(module, &modules[i]);
	}
	return symbols;
}

void cpa_symbols_close(struct cpa_symbols *symbols)
{
	if (!symbols)
		return;
	for (uint32_t i = 0; i < symbols->count; i++)
		close_module(&symbols->module[i]);
	free(symbols->module);
	free(symbols);
}

/* Report the file of @module to libdwfl and compare build-ids. NULL, or what is wrong. */
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
	struct stat st;
	GElf_Addr where, bias;
	int size;

	memcpy(path, row->path, sizeof(row->path));
	/* A path cut on the left is relative; a special file could block. */
	if (path[0] != '/')
		return "has no file that could be opened";
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return "is not there any more";
	module->dwfl = dwfl_begin(&callbacks);
	if (!module->dwfl)
		return "could not be read";
	module->file = dwfl_report_offline(module->dwfl, module->label, path, -1);
	if (!module->file || dwfl_report_end(module->dwfl, NULL, NULL) != 0)
		return "is not a readable ELF file";
	if (!dwfl_module_getelf(module->file, &bias))
		return "is not a readable ELF file";
	if (row->build_id_size == 0)
		return NULL;
	size = dwfl_module_build_id(module->file, &id, &where);
	if (size < 0 || (uint32_t)size != row->build_id_size ||
	    row->build_id_size > sizeof(row->build_id) ||
	    memcmp(id, row->build_id, row->build_id_size) != 0)
		return "was replaced since the run (its build-id differs)";
	return NULL;
}

/* The module of row @row with its file open if it can be; NULL if there is none. */
static struct module *find_module(struct cpa_symbols *symbols, uint32_t row)
{
	struct module *module;
	const char *trouble;

	if (row == 0 || row > symbols->count || symbols->module[row - 1].row.key == 0)
		return NULL;
	module = &symbols->module[row - 1];
	if (module->asked)
		return module;
	module->asked = true;
	trouble = open_file(module);
	if (trouble) {
		if (module->dwfl)
			dwfl_end(module->dwfl);
		module->dwfl = NULL;
		module->file = NULL;
		/* The kernel's own module has no file anywhere. */
		if (strncmp(module->label, "linux-vdso", strlen("linux-vdso")) != 0)
			module->trouble =
				cpa_format_text("%s %s: what it holds appears as %s+offset.",
						module->path, trouble, module->label);
	}
	return module;
}

const char *cpa_symbols_trouble(const struct cpa_symbols *symbols, uint32_t module)
{
	return symbols->module[module - 1].trouble;
}

/* The symbol that covers @address of libdwfl's own address space, and how far into it it is. */
static const char *find_symbol(const struct module *module, GElf_Addr address, GElf_Off *offset)
{
	GElf_Sym symbol;
	const char *name =
		dwfl_module_addrinfo(module->file, address, offset, &symbol, NULL, NULL, NULL);

	/* Without a full symbol table the nearest name may be that of something else. */
	if (!name || (*offset != 0 && *offset >= symbol.st_size))
		return NULL;
	return name;
}

/*
 * In place: of the function that libstdc++ makes to run a std::thread or std::async, what it runs,
 * as "main::{lambda()#1}".
 */
static void unwrap_thread(char *name)
{
	static const char before[] = "std::thread::_Invoker<std::tuple<", run[] = "::_M_run";
	char *from = strstr(name, before), *to;
	int depth = 0;

	if (!from || !strstr(from, run))
		return;
	from += strlen(before);
	for (to = from; *to && (depth > 0 || (*to != '>' && *to != ',')); to++)
		depth += (*to == '<' || *to == '(') - (*to == '>' || *to == ')');
	memmove(name, from, (size_t)(to - from));
	name[to - from] = '\0';
}

static char *demangle(const char *name)
{
	char *plain = cplus_demangle(name, DMGL_AUTO | DMGL_ANSI);
	char *text;

	if (plain)
		unwrap_thread(plain);
	text = cpa_printable(plain ? plain : name, SIZE_MAX);
	free(plain);
	return text;
}

static struct cpa_place anonymous_place(uint64_t address)
{
	return (struct cpa_place){
		.name = cpa_format_text("0x%" PRIx64 " [anonymous]", address),
	};
}

/* @address is that in the file. */
static struct cpa_place unnamed_place(const struct module *module, uint64_t address)
{
	return (struct cpa_place){
		.name = cpa_format_text("%s+0x%" PRIx64, module->label, address),
		.location = xstrdup(module->label),
	};
}

/* "file:line" of the code at @address of libdwfl's address space, else the module. */
static char *locate_code(const struct module *module, GElf_Addr address)
{
	Dwfl_Line *line = dwfl_module_getsrc(module->file, address);
	const char *file = NULL;
	char *text, *location;
	int number = 0;

	if (line)
		file = dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
	if (!file)
		return xstrdup(module->label);
	text = cpa_printable(file, SIZE_MAX);
	location = number > 0 ? cpa_format_text("%s:%d", text, number) : xstrdup(text);
	free(text);
	return location;
}

struct cpa_place cpa_symbols_code(struct cpa_symbols *symbols, uint32_t row, uint64_t address,
				  bool returned)
{
	struct module *module = find_module(symbols, row);
	uint64_t in_file;
	struct cpa_place place;
	GElf_Addr at, bias;
	GElf_Off offset;
	const char *name;

	if (!module)
		return anonymous_place(address);
	in_file = address - module->row.bias;
	place = unnamed_place(module, in_file);
	if (!module->file || !dwfl_module_getelf(module->file, &bias))
		return place;
	at = in_file + bias - returned;
	free(place.location);
	place.location = locate_code(module, at);
	name = find_symbol(module, at, &offset);
	if (name) {
		free(place.name);
		place.name = demangle(name);
	}
	return place;
}

/* The ELF symbol knows the name with its namespaces, DWARF the part and where it is declared. */
struct cpa_place cpa_symbols_variable(struct cpa_symbols *symbols, uint32_t row, uint64_t address,
				      bool whole)
{
	struct module *module = find_module(symbols, row);
	uint64_t in_file;
	struct cpa_variable found = { 0 };
	struct cpa_place place;
	GElf_Off offset = 0;
	GElf_Addr bias;
	const char *symbol;
	char *name;

	if (!module)
		return anonymous_place(address);
	in_file = address - module->row.bias;
	place = unnamed_place(module, in_file);
	if (!module->file || !dwfl_module_getelf(module->file, &bias))
		return place;
	symbol = find_symbol(module, in_file + bias, &offset);
	if (!module->variables)
		module->variables = cpa_variables_open(module->file);
	cpa_variables_find(module->variables, in_file, whole, &found);
	if (!found.name && !symbol)
		return place;
	free(place.name);
	/* A static variable inside a function has a symbol such as "lock.0". */
	name = found.name && (!symbol || symbol[0] != '_') ? xstrdup(found.name) : demangle(symbol);
	if (found.name)
		place.name = cpa_format_text("%s%s", name, found.part);
	else if (offset)
		place.name = cpa_format_text("%s+0x%" PRIx64, name, offset);
	else
		place.name = xstrdup(name);
	free(name);
	if (found.location) {
		free(place.location);
		place.location = xstrdup(found.location);
	}
	cpa_variable_fini(&found);
	return place;
}
