/* SPDX-License-Identifier: MIT */
#include "analysis/profile/spin.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/build.h"
#include "analysis/profile/components.h"
#include "analysis/profile/modules.h"
#include "analysis/symbols/code_bytes.h"
#include "analysis/symbols/spin_loop.h"
#include "analysis/util/printable.h"

#define FEW 10u /* stacks: fewer are no finding */

bool cpa_spin_is_library(const char *name)
{
	static const char *const libraries[] = { "libgomp.so", "libtbb.so", "libomp.so",
						 "libomp5.so", "libiomp5.so" };

	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++)
		if (strncmp(name, libraries[i], strlen(libraries[i])) == 0)
			return true;
	return false;
}

/* A site that stacks end at. */
struct site {
	uint32_t row;
	uint64_t stacks, ticks, path_ticks;
};

/* By row, of those that are met. */
struct search {
	struct cpa_build *build;
	struct site *site;	    /* [rows of the sites table + 1] */
	uint64_t ticks, path_ticks; /* of all stacks */
};

static void add(struct search *s, uint32_t row, bool on_path)
{
	struct cpa_stack stack;
	struct site *site;

	if (!cpa_dump_row(s->build->dump, CPA_TABLE_STACKS, row, &stack, sizeof(stack)) ||
	    !stack.key)
		return;
	*(on_path ? &s->path_ticks : &s->ticks) += stack.ticks;
	if (!stack.at || stack.at > s->build->names->sites || !stack.ticks)
		return;
	site = &s->site[stack.at];
	site->row = stack.at;
	site->stacks += !on_path;
	*(on_path ? &site->path_ticks : &site->ticks) += stack.ticks;
}

static void add_stacks(struct search *s)
{
	uint32_t rows = s->build->dump->rows[CPA_TABLE_STACKS], row = s->build->program.stack;
	struct cpa_stack stack;

	for (uint32_t i = 1; i <= rows; i++)
		add(s, i, false);
	for (uint32_t n = 0; row && row <= rows && n < rows; n++, row = stack.before) {
		add(s, row, true);
		if (!cpa_dump_row(s->build->dump, CPA_TABLE_STACKS, row, &stack, sizeof(stack)))
			return;
	}
}

static int compare(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	return x->ticks < y->ticks ? 1 :
	       x->ticks > y->ticks ? -1 :
	       x->row > y->row	   ? 1 :
	       x->row < y->row	   ? -1 :
				     0;
}

/* A module's file. */
struct file {
	struct cpa_code *code; /* NULL: it cannot be read, or is not the program's code */
	bool tried;
};

static const struct cpa_code *code_of(struct cpa_build *build, struct file *file, uint32_t module)
{
	const char *path = build->profile->module[module - 1].path;
	struct cpa_module row;

	if (!file->tried && path && !cpa_spin_is_library(cpa_printable_base(path)) &&
	    cpa_dump_row(build->dump, CPA_TABLE_MODULES, module, &row, sizeof(row)))
		file->code = cpa_code_open(&row);
	file->tried = true;
	return file->code;
}

static bool is_in_loop(const struct cpa_code *code, uint64_t address)
{
	uint8_t bytes[2 * CPA_SPIN_LOOP_MOST];
	uint64_t from = address > CPA_SPIN_LOOP_MOST ? address - CPA_SPIN_LOOP_MOST : 0;
	size_t size = cpa_code_read(code, from, bytes, sizeof(bytes));

	if (size) /* else the code may begin behind that */
		return cpa_is_spin_loop(bytes, size, (size_t)(address - from));
	size = cpa_code_read(code, address, bytes, CPA_SPIN_LOOP_MOST);
	return size && cpa_is_spin_loop(bytes, size, 0);
}

static void sum_up(struct search *s, const struct site *first, const struct site *sum)
{
	struct cpa_profile *profile = s->build->profile;
	struct cpa_spin_figures *spin = &profile->spin;
	const struct cpa_place *place = cpa_names_site(s->build->names, first->row, false);
	double path_s = profile->program.critical_path_s;

	for (size_t i = 0; i < profile->components; i++)
		if (profile->component[i].kind == CPA_EXTERNAL)
			path_s -= profile->component[i].critical_path_s;
	spin->stacks = sum->stacks;
	spin->cpu_s = profile->program.work_s * (double)sum->ticks / (double)s->ticks;
	if (sum->path_ticks && path_s > 0)
		spin->path_s = path_s * (double)sum->path_ticks / (double)s->path_ticks;
	spin->function = place->name ? xstrdup(place->name) : NULL;
	spin->location = place->location ? xstrdup(place->location) : NULL;
}

/* Sum up the sites in loops that wait. */
static void find_loops(struct search *s, const struct site *site, size_t count)
{
	size_t modules = s->build->profile->modules;
	struct file *file = xcalloc(modules + 1, sizeof(*file));
	const struct site *first = NULL;
	struct site sum = { 0 };

	for (size_t i = 0; i < count; i++) {
		const struct cpa_code *of;
		uint32_t module;
		uint64_t offset;

		cpa_build_site(s->build, site[i].row, &module, &offset);
		of = module ? code_of(s->build, &file[module], module) : NULL;
		if (!of || !is_in_loop(of, offset))
			continue;
		first = first ? first : &site[i];
		sum.stacks += site[i].stacks;
		sum.ticks += site[i].ticks;
		sum.path_ticks += site[i].path_ticks;
	}
	for (size_t i = 0; i <= modules; i++)
		cpa_code_close(file[i].code);
	free(file);
	if (sum.stacks >= FEW)
		sum_up(s, first, &sum);
}

void cpa_build_spin(struct cpa_build *build)
{
	uint32_t sites = build->names->sites, count = 0;
	struct search s = { .build = build, .site = xcalloc((size_t)sites + 1, sizeof(*s.site)) };

	add_stacks(&s);
	for (uint32_t i = 1; i <= sites; i++)
		if (s.site[i].stacks)
			s.site[count++] = s.site[i];
	qsort(s.site, count, sizeof(*s.site), compare);
	if (s.ticks)
		find_loops(&s, s.site, count);
	free(s.site);
}
