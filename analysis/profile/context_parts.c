/* SPDX-License-Identifier: MIT */
#include "analysis/profile/context_parts.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/util/format.h"

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
		.name = d->innermost->inlined ? d->innermost->name : d->function->name,
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
	struct cpa_context_parts parts = { .part = xcalloc(1, sizeof(*parts.part)) };

	for (size_t i = 0; i < profile->components; i++) {
		struct division d = { .parts = &parts,
				      .function = &profile->component[i],
				      .callers = callers };
		struct cpa_callers *root;

		if (d.function->kind != CPA_FUNCTION)
			continue;
		root = cpa_callers_of_parts(profile->contexts, d.function);
		d.stacks = root->stacks;
		for (size_t k = 0; k < root->callers; k++) {
			d.innermost = root->caller[k].context;
			add_parts(&d, &root->caller[k], "", 0);
		}
		cpa_callers_free(root);
	}
	qsort(parts.part, parts.count, sizeof(*parts.part), compare_parts);
	return parts;
}

void cpa_context_parts_fini(struct cpa_context_parts *parts)
{
	for (size_t i = 0; i < parts->count; i++)
		free(parts->part[i].callers);
	free(parts->part);
}
