/* SPDX-License-Identifier: MIT */
/* analysis/symbols/inlined.c - functions that the compiler inlined at an address, by DWARF */
#include "analysis/symbols/inlined.h"

#include <dwarf.h>
#include <inttypes.h>
#include <libiberty/libiberty.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "analysis/symbols/demangle.h"
#include "analysis/util/format.h"
#include "analysis/util/printable.h"

#define DEEPEST 64u /* scopes inside each other: damaged files may have any number */

/* The unit that has @address, and @bias between its addresses and those of libdwfl. */
static Dwarf_Die *unit_of(Dwfl_Module *file, GElf_Addr address, Dwarf_Addr *bias)
{
	Dwarf_Die *unit = dwfl_module_addrdie(file, address, bias);
	Dwarf_Aranges *table;
	size_t count;
	Dwarf *dwarf;

	if (unit)
		return unit;
	/* clang leaves out the table of addresses (.debug_aranges): each unit is asked. */
	dwarf = dwfl_module_getdwarf(file, bias);
	if (!dwarf || dwarf_getaranges(dwarf, &table, &count) != 0 || count)
		return NULL;
	while ((unit = dwfl_module_nextcu(file, unit, bias)))
		if (dwarf_haspc(unit, address - *bias) > 0)
			return unit;
	return NULL;
}

/*
 * "/src/queue.c:88", or without a line if that is 0. @file: NULL is allowed. The caller frees it.
 */
static char *place_of(const char *file, Dwarf_Word line)
{
	char *text = cpa_printable(file ? file : "", SIZE_MAX), *place;

	if (!file || !line || line > INT32_MAX)
		return text;
	place = cpa_format_text("%s:%" PRIu64, text, (uint64_t)line);
	free(text);
	return place;
}

/* Where the function of @die is declared. The caller frees it. */
static char *locate(Dwarf_Die *die)
{
	int line = 0;

	if (dwarf_decl_line(die, &line) != 0 || line < 0)
		line = 0;
	return place_of(dwarf_decl_file(die), (Dwarf_Word)line);
}

/* Where the function of @die is called, in the one that it is inlined in. The caller frees it. */
static char *locate_call(Dwarf_Die *die)
{
	Dwarf_Die unit;
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	Dwarf_Word file, line;
	size_t count;

	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &file) != 0 ||
	    dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &line) != 0 ||
	    !dwarf_diecu(die, &unit, NULL, NULL) || dwarf_getsrcfiles(&unit, &files, &count) != 0 ||
	    file >= count || !line)
		return xstrdup("");
	return place_of(dwarf_filesrc(files, (size_t)file, NULL, NULL), line);
}

/* The name as that of a function with a symbol. The caller frees it. */
static char *name(Dwarf_Die *die, const char *location)
{
	Dwarf_Attribute attribute;
	const char *symbol = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		symbol = dwarf_formstring(&attribute);
	if (!symbol)
		symbol = dwarf_diename(die);
	return symbol ? cpa_demangle(symbol, location) : xstrdup("(no name)");
}

/* Append the function of @die to the @text, which may be NULL. */
static char *append(char *text, Dwarf_Die *die)
{
	char *location = locate(die), *own = name(die, location), *call = locate_call(die), *longer;

	longer = cpa_format_text("%s%s%s\t%s\t%s", text ? text : "", text ? "\t" : "", own,
				 location, call);
	free(call);
	free(location);
	free(own);
	free(text);
	return longer;
}

/* Find code at @address among the scopes directly in @scope, and continue there. */
static bool descend(Dwarf_Die *scope, Dwarf_Addr address, char **text, unsigned depth)
{
	Dwarf_Die die;

	if (depth == DEEPEST || dwarf_child(scope, &die) != 0)
		return false;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_namespace:
		case DW_TAG_module:
			if (descend(&die, address, text, depth + 1))
				return true;
			break;
		case DW_TAG_inlined_subroutine:
		case DW_TAG_subprogram:
		case DW_TAG_lexical_block:
			if (dwarf_haspc(&die, address) <= 0)
				break;
			if (dwarf_tag(&die) == DW_TAG_inlined_subroutine)
				*text = append(*text, &die);
			descend(&die, address, text, depth + 1);
			return true;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

char *cpa_inlined_at(Dwfl_Module *file, GElf_Addr address)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = unit_of(file, address, &bias);
	char *text = NULL;

	if (unit)
		descend(unit, address - bias, &text, 0);
	return text;
}
