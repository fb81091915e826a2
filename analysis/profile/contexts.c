/* SPDX-License-Identifier: MIT */
#include "analysis/profile/contexts.h"

#include <inttypes.h>
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/build.h"
#include "analysis/profile/components.h"
#include "analysis/profile/modules.h"
#include "analysis/symbols/construct.h"
#include "analysis/util/format.h"
#include "analysis/util/printable.h"

#define FEW   3u   /* stacks: a sentence names no caller with fewer */
#define NAMED 2u   /* callers that a sentence names, and steps of their own callers */
#define LEAST 0.05 /* of the function's path: a caller with less is not named */

void cpa_contexts_free(struct cpa_contexts *contexts)
{
	if (!contexts)
		return;
	for (size_t i = 0; i < contexts->count; i++) {
		free(contexts->context[i].name);
		free(contexts->context[i].location);
		free(contexts->context[i].inlined);
		free(contexts->context[i].line);
	}
	free(contexts->context);
	free(contexts->of_row);
	free(contexts->use);
	free(contexts);
}

int cpa_compare_places(uint32_t module_a, uint64_t offset_a, uint32_t module_b, uint64_t offset_b)
{
	if (module_a != module_b)
		return module_a < module_b ? -1 : 1;
	return offset_a < offset_b ? -1 : offset_a > offset_b;
}

/*
 * Length of the module's name in that of a function without a symbol, "sort+0x146b0"; 0: it has
 * one.
 */
static size_t module_length(const struct cpa_context_figures *context)
{
	char *offset = cpa_format_text("+%#" PRIx64, context->offset);
	size_t all = strlen(context->name), end = strlen(offset);
	bool ends = all > end && strcmp(context->name + all - end, offset) == 0;

	free(offset);
	return ends ? all - end : 0;
}

char *cpa_context_label(const struct cpa_context_figures *context)
{
	size_t module;

	if (context->line)
		return cpa_format_text("%s at %s", context->name,
				       cpa_printable_base(context->line));
	if (!context->at)
		return xstrdup(context->name);
	module = module_length(context);
	if (module)
		return cpa_format_text("%.*s+%#" PRIx64, (int)module, context->name, context->at);
	return cpa_format_text("%s at %#" PRIx64, context->name, context->at);
}

/* Count the stacks on the path, from the latest one on backwards. @innermost: context of each. */
static void count_stacks(struct cpa_build *build, const uint32_t *innermost)
{
	struct cpa_contexts *contexts = build->profile->contexts;
	uint32_t rows = build->dump->rows[CPA_TABLE_STACKS], row = build->program.stack;
	struct cpa_stack stack;

	for (uint32_t n = 0; row && n < rows; n++, row = stack.before) {
		struct cpa_context_figures *c;

		if (row > rows ||
		    !cpa_dump_row(build->dump, CPA_TABLE_STACKS, row, &stack, sizeof(stack))) {
			cpa_dump_skip(build->dump, CPA_TABLE_STACKS);
			return;
		}
		if (!innermost[row])
			continue;
		c = &contexts->context[innermost[row] - 1];
		c->stacks++;
		c->path_s += cpa_build_seconds(build, stack.ticks);
		contexts->on_path++;
	}
}

/* Path and CPU time, seconds. */
struct times {
	double path, cpu;
};

static void add(struct times *to, const struct cpa_context_figures *context)
{
	to->path += context->path_s;
	to->cpu += context->cpu_s;
}

/* What the program has of both, without what it was blocked for: no stacks are taken then. */
static struct times all_times(const struct cpa_profile *profile)
{
	struct times all = { profile->program.critical_path_s, profile->program.work_s };

	for (size_t i = 0; i < profile->components; i++)
		if (profile->component[i].kind == CPA_EXTERNAL)
			all.path -= profile->component[i].critical_path_s;
	return all;
}

/* By what @sum is to be multiplied to be at most @most. */
static double factor(double most, double sum)
{
	most = fmax(most, 0); /* rounded, it may be less */
	return sum > most ? most / sum : 1;
}

/*
 * Give the contexts of each function shares of its time, so that they add up to it. Functions that
 * share a slot, and those that had stacks but no sample of another kind, have no time of their own:
 * their contexts have what their stacks stand for, and all together at most what the other
 * functions leave.
 */
static void fit(struct cpa_profile *profile)
{
	struct cpa_contexts *contexts = profile->contexts;
	struct times *own = xcalloc(profile->components + 1, sizeof(*own));
	struct times rest = all_times(profile), others = { 0 };

	for (size_t i = 0; i < contexts->count; i++) {
		const struct cpa_context_figures *c = &contexts->context[i];

		add(c->component ? &own[c->component - profile->component] : &others, c);
	}
	for (size_t i = 0; i < profile->components; i++) {
		rest.path -= own[i].path > 0 ? profile->component[i].critical_path_s : 0;
		rest.cpu -= own[i].cpu > 0 ? profile->component[i].total_s : 0;
	}
	for (size_t i = 0; i < contexts->count; i++) {
		struct cpa_context_figures *c = &contexts->context[i];
		size_t k = c->component ? (size_t)(c->component - profile->component) : 0;

		if (!c->component) {
			c->path_s *= factor(rest.path, others.path);
			c->cpu_s *= factor(rest.cpu, others.cpu);
			continue;
		}
		if (own[k].path > 0)
			c->path_s *= c->component->critical_path_s / own[k].path;
		if (own[k].cpu > 0)
			c->cpu_s *= c->component->total_s / own[k].cpu;
	}
	free(own);
}

/* A stack of the function, seen from one of its callers. */
struct view {
	const struct cpa_context_figures *leaf, *at;
};

static int compare_views(const void *a, const void *b)
{
	const struct cpa_context_figures *x = ((const struct view *)a)->at;
	const struct cpa_context_figures *y = ((const struct view *)b)->at;
	int order = cpa_compare_places(x->module, x->offset, y->module, y->offset);

	if (!order)
		order = strcmp(x->name, y->name);
	if (!order)
		order = strcmp(x->line ? x->line : "", y->line ? y->line : "");
	return order ? order : (x->at > y->at) - (x->at < y->at);
}

static int compare_callers(const void *a, const void *b)
{
	const struct cpa_callers *x = a, *y = b;

	if (x->path_s != y->path_s)
		return x->path_s > y->path_s ? -1 : 1;
	if (x->cpu_s != y->cpu_s)
		return x->cpu_s > y->cpu_s ? -1 : 1;
	return strcmp(x->context->name, y->context->name);
}

static void divide(const struct cpa_contexts *contexts, struct cpa_callers *node, struct view *view,
		   size_t views);

/* Divide @node by the functions that its @views are at. */
static void divide_by_function(const struct cpa_contexts *contexts, struct cpa_callers *node,
			       struct view *view, size_t views)
{
	size_t from = 0;

	qsort(view, views, sizeof(*view), compare_views);
	node->caller = xcalloc(views + 1, sizeof(*node->caller));
	for (size_t i = 1; i <= views; i++) {
		if (i < views && !compare_views(&view[from], &view[i]))
			continue;
		divide(contexts, &node->caller[node->callers++], view + from, i - from);
		from = i;
	}
	qsort(node->caller, node->callers, sizeof(*node->caller), compare_callers);
}

static void add_up(struct cpa_callers *node, const struct view *view, size_t views)
{
	for (size_t i = 0; i < views; i++) {
		node->stacks += view[i].leaf->stacks;
		node->path_s += view[i].leaf->path_s;
		node->cpu_s += view[i].leaf->cpu_s;
	}
}

/* Divide @views, which are at one function, by their callers. */
static void divide(const struct cpa_contexts *contexts, struct cpa_callers *node, struct view *view,
		   size_t views)
{
	size_t n = 0;

	node->context = view->at;
	add_up(node, view, views);
	for (size_t i = 0; i < views; i++) {
		uint32_t caller = view[i].at->caller;

		if (caller)
			view[n++] = (struct view){ view[i].leaf, &contexts->context[caller - 1] };
	}
	divide_by_function(contexts, node, view, n);
}

/*
 * The context at which a view of @what begins for stacks that end in @leaf; @what is a function, or
 * the name of an inlined one. NULL: these stacks are not part of the view.
 */
typedef const struct cpa_context_figures *find_view(const struct cpa_contexts *contexts,
						    const struct cpa_context_figures *leaf,
						    const void *what);

/* The views of all stacks that @find finds one for. The caller frees them. */
static struct view *list_views(const struct cpa_contexts *contexts, find_view *find,
			       const void *what, size_t *views)
{
	struct view *view = xcalloc((contexts ? contexts->count : 0) + 1, sizeof(*view));

	*views = 0;
	for (size_t i = 0; contexts && i < contexts->count; i++) {
		const struct cpa_context_figures *leaf = &contexts->context[i], *at;

		if (!leaf->stacks && leaf->cpu_s <= 0)
			continue;
		at = find(contexts, leaf, what);
		if (at)
			view[(*views)++] = (struct view){ leaf, at };
	}
	return view;
}

static struct cpa_callers *callers_of(const struct cpa_contexts *contexts, find_view *find,
				      const void *what)
{
	struct cpa_callers *root = xcalloc(1, sizeof(*root));
	size_t views;
	struct view *view = list_views(contexts, find, what, &views);

	if (views)
		divide(contexts, root, view, views);
	free(view);
	return root;
}

static const struct cpa_context_figures *find_function(const struct cpa_contexts *contexts,
						       const struct cpa_context_figures *leaf,
						       const void *component)
{
	if (!cpa_is_same_function(leaf->component, component))
		return NULL;
	while (leaf->inlined)
		leaf = &contexts->context[leaf->caller - 1];
	return leaf;
}

struct cpa_callers *cpa_callers_of(const struct cpa_contexts *contexts,
				   const struct cpa_component_figures *component)
{
	return callers_of(contexts, find_function, component);
}

static const struct cpa_context_figures *find_part(const struct cpa_contexts *contexts,
						   const struct cpa_context_figures *leaf,
						   const void *component)
{
	(void)contexts;
	return leaf->component == component ? leaf : NULL;
}

struct cpa_callers *cpa_callers_of_parts(const struct cpa_contexts *contexts,
					 const struct cpa_component_figures *component)
{
	struct cpa_callers *root = xcalloc(1, sizeof(*root));
	size_t views;
	struct view *view = list_views(contexts, find_part, component, &views);

	add_up(root, view, views);
	divide_by_function(contexts, root, view, views);
	free(view);
	return root;
}

static const struct cpa_context_figures *find_inlined(const struct cpa_contexts *contexts,
						      const struct cpa_context_figures *leaf,
						      const void *name)
{
	while (leaf->inlined && strcmp(leaf->inlined, name) != 0)
		leaf = &contexts->context[leaf->caller - 1];
	return leaf->inlined ? leaf : NULL;
}

struct cpa_callers *cpa_callers_of_inlined(const struct cpa_contexts *contexts, const char *name)
{
	return callers_of(contexts, find_inlined, name);
}

static void free_below(struct cpa_callers *node)
{
	for (size_t i = 0; i < node->callers; i++)
		free_below(&node->caller[i]);
	free(node->caller);
}

void cpa_callers_free(struct cpa_callers *callers)
{
	free_below(callers);
	free(callers);
}

double cpa_callers_error(uint64_t part, uint64_t all)
{
	/*
	 * With one more stack on either side, as few stacks do not make a share of 100 % certain.
	 */
	double count = (double)all + 2, share = ((double)part + 1) / count;

	return all ? sqrt(share * (1 - share) / count) : 0;
}

/* Whether @caller calls the body of any construct of OpenMP, any thread's first function, or main(). */
static bool says_nothing(const struct cpa_callers *caller)
{
	const char *name = caller->context->name;

	return cpa_construct_is_runtime(name) || strcmp(name, "start_thread") == 0 ||
	       strncmp(name, "__libc_start_", strlen("__libc_start_")) == 0;
}

static bool is_in_library(const struct cpa_profile *profile, const struct cpa_callers *node)
{
	uint32_t module = node->context->module;
	const char *path = module ? profile->module[module - 1].path : NULL;

	return path && profile->program.exe && strcmp(path, profile->program.exe) != 0;
}

/*
 * "compare <- mergelines": @node, and its callers while one of them makes most of it. Of a library's functions the
 * one that the program calls: "... <- free <- resize".
 */
static char *name_chain(const struct cpa_profile *profile, const struct cpa_callers *node)
{
	char *text = xstrdup(node->context->name), *longer;
	bool inside = is_in_library(profile, node);

	for (unsigned n = 1; (n < NAMED || inside) && node->callers; n++) {
		if (node->caller[0].stacks < FEW || 2 * node->caller[0].path_s <= node->path_s ||
		    says_nothing(&node->caller[0]))
			break;
		node = &node->caller[0];
		inside = inside && is_in_library(profile, node);
		longer = inside ? cpa_format_text("... <- %s", node->context->name) :
				  cpa_format_text("%s <- %s", text, node->context->name);
		free(text);
		text = longer;
	}
	return text;
}

/* Chains of callers, most first, and the path of each. */
struct chains {
	char *text[NAMED];
	double path_s[NAMED];
	size_t n;
};

/* Add the chain of @caller, unless others fill @chains. One with the same text is the same to a reader. */
static void add_chain(struct chains *chains, const struct cpa_profile *profile,
		      const struct cpa_callers *caller)
{
	char *text = name_chain(profile, caller);
	size_t i = 0;

	while (i < chains->n && strcmp(chains->text[i], text) != 0)
		i++;
	if (i < NAMED)
		chains->path_s[i] += caller->path_s;
	if (i == chains->n && i < NAMED)
		chains->text[chains->n++] = text;
	else
		free(text);
}

/*
 * "compare <- mergelines 70%, insert 25%": the callers that have most of the function's path; a
 * single one without its share. Callers that say nothing are left out. The caller frees it; NULL:
 * there are none.
 */
static char *name_callers(const struct cpa_profile *profile,
			  const struct cpa_component_figures *function)
{
	struct cpa_callers *root = cpa_callers_of(profile->contexts, function);
	struct chains chains = { .n = 0 };
	char *text = NULL;

	for (size_t i = 0; i < root->callers; i++) {
		const struct cpa_callers *caller = &root->caller[i];

		if (caller->stacks < FEW || caller->path_s < LEAST * root->path_s)
			break;
		if (!says_nothing(caller))
			add_chain(&chains, profile, caller);
	}
	for (size_t i = 0; i < chains.n; i++) {
		bool only = chains.path_s[i] >= (1 - LEAST) * root->path_s;
		struct cpa_figure share = cpa_format_percent(chains.path_s[i], root->path_s);
		char *longer = cpa_format_text("%s%s%s%s%s", text ? text : "", text ? ", " : "",
					       chains.text[i], only ? "" : " ",
					       only ? "" : share.text);

		free(chains.text[i]);
		free(text);
		text = longer;
	}
	cpa_callers_free(root);
	return text;
}

void cpa_build_contexts(struct cpa_build *build)
{
	struct cpa_profile *profile = build->profile;
	struct cpa_contexts *contexts;
	uint32_t *innermost;

	if (!build->dump->rows[CPA_TABLE_CONTEXTS])
		return;
	contexts = profile->contexts = xcalloc(1, sizeof(*contexts));
	contexts->stacks = build->dump->header.diag[CPA_DIAG_STACKS];
	contexts->cut = build->dump->header.diag[CPA_DIAG_STACKS_CUT];
	contexts->cost_s = cpa_build_seconds(build, build->dump->header.diag[CPA_DIAG_STACK_TICKS]);
	innermost = cpa_build_context_tree(build);
	count_stacks(build, innermost);
	free(innermost);
	fit(profile);
	for (size_t i = 0; i < profile->components; i++)
		if (profile->component[i].kind == CPA_FUNCTION && !profile->component[i].part)
			profile->component[i].callers =
				name_callers(profile, &profile->component[i]);
}
