/* SPDX-License-Identifier: MIT */
#include "analysis/derived/context_parts.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/derived/function.h"
#include "analysis/util/format.h"
#include "analysis/profile/components.h"

#define ROUNDING 1e-9

/* A function that is being divided. */
struct division {
	struct cpa_context_parts *parts;
	const struct cpa_component_figures *function;
	const struct cpa_context_figures *innermost; /* of it, or inlined in it */
	uint64_t stacks;
	uint32_t callers; /* at most */
};

static void add_part(const struct division *d, const char *callers, uint64_t stacks, double path_s,
		     double cpu_s)
{
	struct cpa_context_parts *parts = d->parts;
	double error = cpa_callers_error(stacks, d->stacks);

	parts->part = xrealloc(parts->part, (parts->count + 1) * sizeof(*parts->part));
	parts->part[parts->count++] = (struct cpa_context_part){
		.function = d->function,
		.name = d->innermost->inlined ? d->innermost->name :
			d->function->part     ? d->function->part->function :
						d->function->name,
		.location = d->innermost->inlined ? d->innermost->location : d->function->location,
		.callers = xstrdup(callers),
		.stacks = stacks,
		.of = d->stacks,
		.path_s = path_s,
		.error_s = error * d->function->critical_path_s,
		.cpu_s = cpu_s,
		.saved_most_s = fmin(path_s, d->function->saved_s),
	};
}

/* Add the parts of @node, which is called by @callers, these @depth callers included. */
static void add_parts(const struct division *d, const struct cpa_callers *node, const char *callers,
		      uint32_t depth)
{
	uint64_t stacks = node->stacks;
	double path_s = node->path_s, cpu_s = node->cpu_s;
	/* What is inlined always has the function whose code it is part of. */
	bool inlined = node->context->inlined, last = depth == d->callers && !inlined;

	for (size_t i = 0; !last && i < node->callers; i++) {
		const struct cpa_callers *caller = &node->caller[i];
		char *text = cpa_format_text("%s%s%s", callers, *callers ? " <- " : "",
					     caller->context->name);

		add_parts(d, caller, text, depth + !inlined);
		stacks -= caller->stacks;
		path_s -= caller->path_s;
		cpu_s -= caller->cpu_s;
		free(text);
	}
	/* What is left has no further callers, but for rounding. */
	if (last || !node->callers || stacks || cpu_s > ROUNDING * node->cpu_s)
		add_part(d, callers, stacks, fmax(path_s, 0), fmax(cpu_s, 0));
}

/*
 * Add the component @d->function as it is: the run divided functions by as many callers, or no
 * stacks divide its path.
 */
static void add_component(const struct division *d)
{
	const struct cpa_component_figures *c = d->function;
	struct cpa_context_parts *parts = d->parts;

	parts->part = xrealloc(parts->part, (parts->count + 1) * sizeof(*parts->part));
	parts->part[parts->count++] = (struct cpa_context_part){
		.function = c,
		.name = c->part ? c->part->function : c->name,
		.location = c->location,
		.callers = c->part ? cpa_part_of_function_callers(c->part, d->callers) :
				     xstrdup(""),
		.stacks = d->stacks,
		.of = d->stacks,
		.path_s = c->critical_path_s,
		.cpu_s = c->total_s,
		.saved_most_s = c->saved_s,
	};
}

static int compare_texts(const char *a, const char *b)
{
	return !a || !b ? (a != NULL) - (b != NULL) : strcmp(a, b);
}

/* Order by function, and of each by who called it. */
static int compare_callers(const void *a, const void *b)
{
	const struct cpa_context_part *x = a, *y = b;
	int order = cpa_compare_places(x->function->module, x->function->offset,
				       y->function->module, y->function->offset);

	if (!order)
		order = strcmp(x->name, y->name);
	if (!order)
		order = compare_texts(x->location, y->location);
	return order ? order : strcmp(x->callers, y->callers);
}

/*
 * The run divided functions by more callers than are wanted: add up what is of one function, with
 * the same callers. Savings do not add up, and so are not more than the path.
 */
static void merge(struct cpa_context_parts *parts)
{
	struct cpa_context_part *last = NULL;
	size_t n = 0;

	qsort(parts->part, parts->count, sizeof(*parts->part), compare_callers);
	for (size_t i = 0; i < parts->count; i++) {
		struct cpa_context_part *part = &parts->part[i];

		if (!last || compare_callers(last, part) ||
		    !cpa_is_same_function(last->function, part->function)) {
			last = &parts->part[n++];
			*last = *part;
			continue;
		}
		last->stacks += part->stacks;
		last->of += part->of;
		last->path_s += part->path_s;
		last->cpu_s += part->cpu_s;
		last->saved_most_s = last->path_s;
		last->error_s = hypot(last->error_s, part->error_s);
		free(part->callers);
	}
	parts->count = n;
}

static int compare_parts(const void *a, const void *b)
{
	const struct cpa_context_part *x = a, *y = b;
	int order;

	if (x->path_s != y->path_s)
		return x->path_s > y->path_s ? -1 : 1;
	if (x->cpu_s != y->cpu_s)
		return x->cpu_s > y->cpu_s ? -1 : 1;
	order = strcmp(x->name, y->name);
	return order ? order : strcmp(x->callers, y->callers);
}

struct cpa_context_parts cpa_context_parts(const struct cpa_profile *profile, uint32_t callers)
{
	struct cpa_context_parts parts = {
		.part = xcalloc(1, sizeof(*parts.part)),
		.exact = callers == profile->program.by_callers,
	};

	for (size_t i = 0; i < profile->components; i++) {
		struct division d = { .parts = &parts,
				      .function = &profile->component[i],
				      .callers = callers };
		struct cpa_callers *root;
		bool whole;

		if (d.function->kind != CPA_FUNCTION)
			continue;
		root = cpa_callers_of_parts(profile->contexts, d.function);
		d.stacks = root->stacks;
		whole = parts.exact || !root->callers ||
			(root->path_s <= 0 && d.function->critical_path_s > 0);
		if (whole)
			add_component(&d);
		for (size_t k = 0; k < root->callers && !whole; k++) {
			d.innermost = root->caller[k].context;
			add_parts(&d, &root->caller[k], "", 0);
		}
		cpa_callers_free(root);
	}
	if (callers < profile->program.by_callers)
		merge(&parts);
	qsort(parts.part, parts.count, sizeof(*parts.part), compare_parts);
	return parts;
}

void cpa_context_parts_fini(struct cpa_context_parts *parts)
{
	for (size_t i = 0; i < parts->count; i++)
		free(parts->part[i].callers);
	free(parts->part);
}
