/* SPDX-License-Identifier: MIT */
/* analysis/symbols/variables.c - static variables of a module, from its DWARF */
#include "analysis/symbols/variables.h"
#include "analysis/util/format.h"

#include <dwarf.h>
#include <inttypes.h>
#include <libiberty/libiberty.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/util/printable.h"

#define NESTING_MAX 64 /* levels of scopes and types; more means a damaged file */
#define PART_MAX    256

struct variable {
	Dwarf_Addr start;
	Dwarf_Word size;
	Dwarf_Die die;
};

struct cpa_variables {
	size_t count, room;
	struct variable *variable;
};

static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attribute;

	return dwarf_attr_integrate(die, DW_AT_type, &attribute) &&
	       dwarf_formref_die(&attribute, type);
}

static void add_variable(struct cpa_variables *list, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *op;
	Dwarf_Die type;
	Dwarf_Word size;
	size_t length;

	if (!dwarf_attr(die, DW_AT_location, &attribute) ||
	    dwarf_getlocation(&attribute, &op, &length) != 0 || length != 1 ||
	    op[0].atom != DW_OP_addr)
		return;
	if (!type_of(die, &type) || dwarf_aggregate_size(&type, &size) != 0 || size == 0)
		return;
	if (list->count == list->room) {
		list->room = list->room ? 2 * list->room : 64;
		list->variable = xrealloc(list->variable, list->room * sizeof(*list->variable));
	}
	list->variable[list->count++] = (struct variable){ op[0].number, size, *die };
}

static void add_scope(struct cpa_variables *list, Dwarf_Die *scope, int depth)
{
	Dwarf_Die die;

	if (depth > NESTING_MAX || dwarf_child(scope, &die) != 0)
		return;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_variable:
			add_variable(list, &die);
			break;
		case DW_TAG_namespace:
		case DW_TAG_subprogram:
		case DW_TAG_lexical_block:
			add_scope(list, &die, depth + 1);
			break;
		default:
			break;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
}

struct cpa_variables *cpa_variables_open(Dwfl_Module *file)
{
	struct cpa_variables *list = xcalloc(1, sizeof(*list));
	Dwarf_Die *unit = NULL;
	Dwarf_Addr bias;

	while ((unit = dwfl_module_nextcu(file, unit, &bias)))
		add_scope(list, unit, 0);
	return list;
}

void cpa_variables_close(struct cpa_variables *variables)
{
	if (variables)
		free(variables->variable);
	free(variables);
}

/* The member of @type that contains the byte at *@offset; *@offset becomes the offset in it. */
static bool find_member(Dwarf_Die *type, Dwarf_Word *offset, Dwarf_Die *member)
{
	Dwarf_Die inner;

	if (dwarf_child(type, member) != 0)
		return false;
	do {
		Dwarf_Attribute attribute;
		Dwarf_Word start = 0, size;

		if (dwarf_tag(member) != DW_TAG_member)
			continue;
		if (dwarf_attr(member, DW_AT_data_member_location, &attribute) &&
		    dwarf_formudata(&attribute, &start) != 0)
			continue;
		if (!type_of(member, &inner) || dwarf_aggregate_size(&inner, &size) != 0)
			continue;
		if (*offset >= start && *offset - start < size) {
			*offset -= start;
			return true;
		}
	} while (dwarf_siblingof(member, member) == 0);
	return false;
}

/* Go one step down from @type to the part at *@offset. Write the step's name to @step. */
static bool descend(Dwarf_Die *type, Dwarf_Word *offset, char *step, size_t room)
{
	Dwarf_Die peeled, inner;
	Dwarf_Word size;
	const char *name;

	if (dwarf_peel_type(type, &peeled) != 0)
		return false;
	switch (dwarf_tag(&peeled)) {
	case DW_TAG_array_type:
		if (!type_of(&peeled, &inner) || dwarf_aggregate_size(&inner, &size) != 0 ||
		    size == 0)
			return false;
		snprintf(step, room, "[%" PRIu64 "]", *offset / size);
		*offset %= size;
		*type = inner;
		return true;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		if (!find_member(&peeled, offset, &inner))
			return false;
		name = dwarf_diename(&inner);
		/* Names such as __data are internals of pthread_mutex_t and similar types. */
		if (!name || name[0] == '_')
			return false;
		snprintf(step, room, ".%s", name);
		return type_of(&inner, type);
	default:
		return false;
	}
}

static bool is_struct(Dwarf_Die *type)
{
	Dwarf_Die peeled;
	int tag = dwarf_peel_type(type, &peeled) == 0 ? dwarf_tag(&peeled) : 0;

	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

/* "[2].lock": the part at @offset of a variable of @type. */
static char *describe_part(Dwarf_Die *type, Dwarf_Word offset, bool whole)
{
	char part[PART_MAX] = "";
	size_t used = 0;

	for (int depth = 0; depth < NESTING_MAX && used < sizeof(part); depth++) {
		char step[PART_MAX];
		Dwarf_Word inside = offset;

		if (whole && offset == 0 && is_struct(type))
			break;
		if (!descend(type, &inside, step, sizeof(step)))
			break;
		offset = inside;
		used += (size_t)snprintf(part + used, sizeof(part) - used, "%s", step);
	}
	if (offset && used < sizeof(part))
		snprintf(part + used, sizeof(part) - used, "+0x%" PRIx64, offset);
	return cpa_printable(part, sizeof(part));
}

static char *describe_location(Dwarf_Die *die)
{
	const char *file = dwarf_decl_file(die);
	char *text, *location;
	int line;

	if (!file || dwarf_decl_line(die, &line) != 0)
		return NULL;
	text = cpa_printable(file, SIZE_MAX);
	location = cpa_format_text("%s:%d", text, line);
	free(text);
	return location;
}

void cpa_variables_find(struct cpa_variables *variables, uint64_t address, bool whole,
			struct cpa_variable *found)
{
	*found = (struct cpa_variable){ 0 };
	for (size_t i = 0; i < variables->count; i++) {
		struct variable *variable = &variables->variable[i];
		const char *name = dwarf_diename(&variable->die);
		Dwarf_Die type;

		if (address < variable->start || address - variable->start >= variable->size)
			continue;
		if (!name || !type_of(&variable->die, &type))
			continue;
		found->name = cpa_printable(name, SIZE_MAX);
		found->part = describe_part(&type, address - variable->start, whole);
		found->location = describe_location(&variable->die);
		return;
	}
}

void cpa_variable_fini(struct cpa_variable *variable)
{
	free(variable->name);
	free(variable->part);
	free(variable->location);
}
