/* SPDX-License-Identifier: MIT */
#include "analysis/profile/lines.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/build.h"
#include "analysis/profile/contexts.h"

static void free_texts(struct cpa_line_figures *line)
{
	free(line->inlined);
	free(line->file);
}

void cpa_lines_free(struct cpa_lines *lines)
{
	if (!lines)
		return;
	for (size_t i = 0; i < lines->count; i++)
		free_texts(&lines->line[i]);
	free(lines->line);
	free(lines);
}

/* No text comes first. */
static int compare_texts(const char *a, const char *b)
{
	return !a || !b ? (a != NULL) - (b != NULL) : strcmp(a, b);
}

static int compare_lines(const void *a, const void *b)
{
	const struct cpa_line_figures *x = a, *y = b;
	int order;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	order = compare_texts(x->inlined, y->inlined);
	if (order)
		return order;
	if (!x->file || !y->file) {
		if (x->file || y->file)
			return x->file ? -1 : 1;
		return x->offset < y->offset ? -1 : x->offset > y->offset;
	}
	if (strcmp(x->file, y->file) != 0)
		return strcmp(x->file, y->file);
	return x->line < y->line ? -1 : x->line > y->line;
}

/* The name of the last of the functions @inlined, which the caller frees: analysis/symbols/inlined.h. */
static char *innermost(const char *inlined)
{
	char *fields = inlined ? xstrdup(inlined) : NULL, *rest = fields, *name = NULL;

	while (rest) {
		const char *next = strsep(&rest, "\t");

		free(name);
		name = xstrdup(next);
		strsep(&rest, "\t");
		strsep(&rest, "\t");
	}
	free(fields);
	return name;
}

/* Set the place of @line to that of site row @at. "/src/queue.c:88" is a file and a line. */
static void find_place(struct cpa_build *build, uint32_t at, struct cpa_line_figures *line)
{
	const struct cpa_place *place = cpa_names_instruction(build->names, at);
	const char *colon = place->location ? strrchr(place->location, ':') : NULL;
	unsigned long number = 0;
	uint32_t module;
	char *end;

	line->inlined = innermost(place->inlined);
	if (colon)
		number = strtoul(colon + 1, &end, 10);
	if (number && !*end && number <= UINT32_MAX) {
		line->line = (uint32_t)number;
		line->file = xstrndup(place->location, (size_t)(colon - place->location));
	} else {
		cpa_build_site(build, at, &module, &line->offset);
	}
}

/* Add the stacks as lines of their own. */
static void read_stacks(struct cpa_build *build, struct cpa_lines *lines)
{
	const struct cpa_contexts *contexts = build->profile->contexts;
	uint32_t rows = build->dump->rows[CPA_TABLE_STACKS];
	struct cpa_stack stack;

	lines->line = xcalloc(rows + 1, sizeof(*lines->line));
	for (uint32_t row = 1; row <= rows; row++) {
		struct cpa_line_figures *line = &lines->line[lines->count];
		uint32_t context;

		if (!cpa_dump_row(build->dump, CPA_TABLE_STACKS, row, &stack, sizeof(stack)) ||
		    !stack.ticks || stack.key < 2 ||
		    stack.key - 1 > build->dump->rows[CPA_TABLE_CONTEXTS])
			continue;
		context = contexts->of_row[stack.key - 1];
		if (!context || !contexts->context[context - 1].component)
			continue;
		*line = (struct cpa_line_figures){
			.function = contexts->context[context - 1].component,
		};
		line->cpu_s = cpa_build_seconds(build, stack.ticks);
		if (contexts->is_on_path[row]) {
			line->path_s = line->cpu_s;
			line->stacks = 1;
		}
		find_place(build, stack.at, line);
		lines->count++;
	}
}

static void add_up(struct cpa_lines *lines)
{
	size_t n = 0;

	qsort(lines->line, lines->count, sizeof(*lines->line), compare_lines);
	for (size_t i = 0; i < lines->count; i++) {
		struct cpa_line_figures *last = n ? &lines->line[n - 1] : NULL;

		if (!last || compare_lines(last, &lines->line[i])) {
			lines->line[n++] = lines->line[i];
			continue;
		}
		last->stacks += lines->line[i].stacks;
		last->path_s += lines->line[i].path_s;
		last->cpu_s += lines->line[i].cpu_s;
		free_texts(&lines->line[i]);
	}
	lines->count = n;
}

/* Give the lines of each function shares of its time, so that they add up to it. */
static void fit(struct cpa_lines *lines)
{
	size_t end;

	for (size_t i = 0; i < lines->count; i = end) {
		const struct cpa_component_figures *function = lines->line[i].function;
		double path_s = 0, cpu_s = 0;

		for (end = i; end < lines->count && lines->line[end].function == function; end++) {
			path_s += lines->line[end].path_s;
			cpu_s += lines->line[end].cpu_s;
		}
		for (size_t k = i; k < end; k++) {
			struct cpa_line_figures *line = &lines->line[k];

			if (path_s > 0)
				line->path_s *= function->critical_path_s / path_s;
			if (cpu_s > 0)
				line->cpu_s *= function->total_s / cpu_s;
		}
	}
}

void cpa_build_lines(struct cpa_build *build)
{
	struct cpa_lines *lines;

	if (!build->profile->contexts || build->graph < CPA_GRAPH_STACKS)
		return;
	lines = build->profile->lines = xcalloc(1, sizeof(*lines));
	read_stacks(build, lines);
	add_up(lines);
	fit(lines);
}
