/* SPDX-License-Identifier: MIT */
#include "analysis/derived/lines.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

static void free_texts(struct cpa_line_figures *line)
{
	free(line->inlined);
	free(line->file);
}

void cpa_lines_free(struct cpa_lines *lines)
{
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

static int compare_functions(const struct cpa_context_figures *x,
			     const struct cpa_context_figures *y)
{
	int order = cpa_compare_places(x->module, x->offset, y->module, y->offset);

	return order ? order : strcmp(x->name, y->name);
}

bool cpa_lines_are_of_one(const struct cpa_line_figures *x, const struct cpa_line_figures *y)
{
	return !compare_functions(x->function, y->function);
}

static int compare_lines(const void *a, const void *b)
{
	const struct cpa_line_figures *x = a, *y = b;
	int order = compare_functions(x->function, y->function);

	if (!order)
		order = compare_texts(x->inlined, y->inlined);
	if (!order)
		order = compare_texts(x->file, y->file);
	if (order)
		return order;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* The context of the function whose code @c is part of. */
static const struct cpa_context_figures *function_of(const struct cpa_contexts *contexts,
						     const struct cpa_context_figures *c)
{
	while (c->inlined)
		c = &contexts->context[c->caller - 1];
	return c;
}

/* Whether @x and @y are the same place in the same function. */
static bool is_same_place(const struct cpa_context_figures *x, const struct cpa_context_figures *y)
{
	return x->at == y->at && !compare_texts(x->line, y->line) && !compare_functions(x, y);
}

/* Whether what context @c has below it is called by the same line farther out, too. */
static bool is_recursion(const struct cpa_contexts *contexts, const struct cpa_context_figures *c)
{
	const struct cpa_context_figures *outer = c;

	while (outer->caller) {
		outer = &contexts->context[outer->caller - 1];
		if (is_same_place(outer, c))
			return true;
	}
	return false;
}

/* Set the place of @line to that of @c. "/src/queue.c:88" is a file and a line. */
static void set_place(struct cpa_line_figures *line, const struct cpa_context_figures *c)
{
	const char *colon = c->line ? strrchr(c->line, ':') : NULL;

	line->inlined = c->inlined ? xstrdup(c->inlined) : NULL;
	line->at = c->at;
	if (!colon)
		return;
	line->file = xstrndup(c->line, (size_t)(colon - c->line));
	line->line = (uint32_t)strtoul(colon + 1, NULL, 10);
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
		last->calls_s += lines->line[i].calls_s;
		free_texts(&lines->line[i]);
	}
	lines->count = n;
}

struct cpa_lines *cpa_lines_of(const struct cpa_contexts *contexts)
{
	struct cpa_lines *lines = xcalloc(1, sizeof(*lines));
	double *below_s = xcalloc(contexts->count + 1, sizeof(*below_s));

	lines->line = xcalloc(contexts->count + 1, sizeof(*lines->line));
	for (size_t i = contexts->count; i > 0; i--) {
		const struct cpa_context_figures *c = &contexts->context[i - 1];
		struct cpa_line_figures *line = &lines->line[lines->count];

		/* What calls a context has a smaller number. */
		below_s[c->caller] += c->path_s + below_s[i];
		line->stacks = c->stacks;
		line->path_s = c->path_s;
		line->cpu_s = c->cpu_s;
		if (below_s[i] > 0 && !is_recursion(contexts, c))
			line->calls_s = below_s[i];
		if (!line->stacks && line->cpu_s <= 0 && line->calls_s <= 0)
			continue;
		line->function = function_of(contexts, c);
		set_place(line, c);
		lines->count++;
	}
	free(below_s);
	add_up(lines);
	return lines;
}
