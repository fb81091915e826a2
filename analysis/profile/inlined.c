/* SPDX-License-Identifier: MIT */
/*
 * analysis/profile/inlined.c - contexts of inlined functions
 *
 * A context is known by the starts of functions, so what is inlined is known where a stack was taken: by
 * its instruction. Such a function gets a context of its own, called by the one whose code it is part
 * of, and the stacks there with their share of its time: sums stay as they are.
 */
#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/build.h"
#include "analysis/profile/contexts.h"
#include "analysis/util/format.h"

/* A stack: its row, the context that the session has, and the site of its instruction. */
struct taken {
	uint32_t row, context, at;
	uint64_t ticks;
};

struct inlining {
	struct cpa_build *build;
	struct cpa_contexts *contexts;
	size_t room;
	/* By number of a context: the first function inlined in it, and the next of its list. 0: none. */
	uint32_t *first, *next;
};

static int compare(const void *a, const void *b)
{
	const struct taken *x = a, *y = b;

	if (x->context != y->context)
		return x->context < y->context ? -1 : 1;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* The stacks whose context is known, by context and instruction. */
static size_t list_stacks(struct cpa_build *build, struct taken *taken)
{
	const struct cpa_contexts *contexts = build->profile->contexts;
	struct cpa_stack stack;
	size_t count = 0;

	for (uint32_t i = 1; i <= build->dump->rows[CPA_TABLE_STACKS]; i++)
		if (cpa_dump_row(build->dump, CPA_TABLE_STACKS, i, &stack, sizeof(stack)) &&
		    stack.key > 1 && stack.key - 1 <= contexts->count)
			taken[count++] = (struct taken){ .row = i,
							 .context = (uint32_t)stack.key - 1,
							 .at = stack.at,
							 .ticks = stack.ticks };
	qsort(taken, count, sizeof(*taken), compare);
	return count;
}

static bool is_same(const struct cpa_context_figures *c, const char *name, const char *location)
{
	return strcmp(c->inlined, name) == 0 &&
	       strcmp(c->location ? c->location : "", location) == 0;
}

/* The context of the function @name at @location, inlined in context @in. */
static uint32_t find_context(struct inlining *in, uint32_t caller, const char *name,
			     const char *location)
{
	struct cpa_contexts *contexts = in->contexts;
	uint32_t number = in->first[caller];

	while (number && !is_same(&contexts->context[number - 1], name, location))
		number = in->next[number];
	if (number)
		return number;
	if (contexts->count == in->room) {
		in->room = 2 * in->room + 64;
		contexts->context =
			XRESIZEVEC(struct cpa_context_figures, contexts->context, in->room + 1);
		in->first = XRESIZEVEC(uint32_t, in->first, in->room + 1);
		in->next = XRESIZEVEC(uint32_t, in->next, in->room + 1);
	}
	number = (uint32_t)++contexts->count;
	contexts->context[number - 1] = (struct cpa_context_figures){
		.caller = caller,
		.depth = contexts->context[caller - 1].depth + 1,
		.module = contexts->context[caller - 1].module,
		.offset = contexts->context[caller - 1].offset,
		.name = cpa_format_text("%s (inlined)", name),
		.inlined = xstrdup(name),
		.location = *location ? xstrdup(location) : NULL,
		.component = contexts->context[caller - 1].component,
	};
	in->first[number] = 0;
	in->next[number] = in->first[caller];
	in->first[caller] = number;
	return number;
}

/* The innermost context of stacks in context @number at the instruction of site row @at. */
static uint32_t innermost(struct inlining *in, uint32_t number, uint32_t at)
{
	const char *inlined = cpa_names_instruction(in->build->names, at)->inlined;
	char *fields = inlined ? xstrdup(inlined) : NULL, *rest = fields;

	while (rest) {
		const char *name = strsep(&rest, "\t"), *location = strsep(&rest, "\t");

		if (!location)
			break;
		number = find_context(in, number, name, location);
	}
	free(fields);
	return number;
}

/* Divide the CPU time of a context by the ticks of its @count stacks. @leaf: the innermost of each row. */
static void divide(struct cpa_contexts *contexts, const struct taken *taken, size_t count,
		   const uint32_t *leaf)
{
	struct cpa_context_figures *whole = &contexts->context[taken->context - 1];
	double cpu_s = whole->cpu_s, sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += (double)taken[i].ticks;
	if (sum <= 0)
		return;
	whole->cpu_s = 0;
	for (size_t i = 0; i < count; i++)
		contexts->context[leaf[taken[i].row] - 1].cpu_s +=
			cpu_s * (double)taken[i].ticks / sum;
}

/* Set @leaf of the stacks, a row each, and divide the time of their contexts. */
static void find_all(struct inlining *in, const struct taken *taken, size_t count, uint32_t *leaf)
{
	size_t from = 0;

	for (size_t i = 0; i < count; i++) {
		bool known = i > from && taken[i].at == taken[i - 1].at;
		bool has = in->contexts->context[taken[i].context - 1].name != NULL;

		leaf[taken[i].row] = known ? leaf[taken[i - 1].row] :
				     has && taken[i].at ?
					     innermost(in, taken[i].context, taken[i].at) :
					     taken[i].context;
		if (i + 1 < count && taken[i + 1].context == taken[i].context)
			continue;
		divide(in->contexts, taken + from, i + 1 - from, leaf);
		from = i + 1;
	}
}

uint32_t *cpa_build_inlined(struct cpa_build *build)
{
	struct cpa_contexts *contexts = build->profile->contexts;
	uint32_t rows = build->dump->rows[CPA_TABLE_STACKS];
	uint32_t *leaf = xcalloc((size_t)rows + 1, sizeof(*leaf));
	struct taken *taken = xcalloc((size_t)rows + 1, sizeof(*taken));
	size_t count = list_stacks(build, taken);
	struct inlining in = {
		.build = build,
		.contexts = contexts,
		.room = contexts->count,
		.first = xcalloc(contexts->count + 1, sizeof(uint32_t)),
		.next = xcalloc(contexts->count + 1, sizeof(uint32_t)),
	};

	if (build->graph >= CPA_GRAPH_STACKS)
		find_all(&in, taken, count, leaf);
	else
		for (size_t i = 0; i < count; i++)
			leaf[taken[i].row] = taken[i].context;
	free(in.first);
	free(in.next);
	free(taken);
	return leaf;
}
