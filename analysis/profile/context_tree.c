/* SPDX-License-Identifier: MIT */
/*
 * analysis/profile/context_tree.c - the tree of contexts: of the rows, and of what is inlined
 *
 * A row is a call of a function, or a function where stacks end (shadow/format/layout_stack.h).
 * Rows of one function with one caller are one context, wherever in the function the calls are,
 * unless lines are wanted. By debug information, other functions are inlined at the address of a
 * call, or of the instruction where a stack was taken. Each is a context of its own, called by the
 * one whose code it is part of, and what is called there is called by the innermost of them. So
 * sums stay as they are.
 */
#include <libiberty/libiberty.h>
#include <libiberty/hashtab.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/build.h"
#include "analysis/profile/components.h"
#include "analysis/profile/contexts.h"
#include "analysis/symbols/chain.h"
#include "analysis/util/format.h"

#define DEEPEST 900u /* callers above a context: a stack has 127, and what is inlined in them */

struct function {
	const struct cpa_component_figures *figures;
	struct cpa_chain chain; /* of a part of a function */
};

/* What is known of a row. */
struct read_row {
	bool parts;	 /* it holds no stacks: CPA_CONTEXT_PARTS */
	uint32_t caller; /* context that calls its function; 0: a thread's start */
	uint32_t function; /* row of the site where it begins; 0: the row is unused, or of unknown callers */
	double cpu_s;
};

/* A stack: its row, that of its context, and the site of its instruction. */
struct taken {
	uint32_t row, context, at;
	uint64_t ticks;
};

struct tree {
	struct cpa_build *build;
	struct cpa_contexts *contexts;
	size_t room;
	htab_t known;		   /* struct entry */
	size_t functions;	   /* those of the profile, */
	struct function *function; /* by place */
	struct read_row *row;	   /* by row */
};

/* A context in the hash table; its texts are those of the context. */
struct entry {
	struct cpa_context_figures is;
	uint32_t number;
};

static int compare_functions(const void *a, const void *b)
{
	const struct cpa_component_figures *x = ((const struct function *)a)->figures;
	const struct cpa_component_figures *y = ((const struct function *)b)->figures;

	return cpa_compare_places(x->module, x->offset, y->module, y->offset);
}

static void list_functions(struct tree *t)
{
	struct cpa_profile *profile = t->build->profile;

	t->function = xcalloc(profile->components + 1, sizeof(*t->function));
	for (size_t i = 0; i < profile->components; i++)
		if (profile->component[i].kind == CPA_FUNCTION &&
		    (profile->component[i].module || profile->component[i].offset) &&
		    !profile->component[i].shared)
			t->function[t->functions++].figures = &profile->component[i];
	for (size_t i = 0; i < t->functions; i++)
		if (t->function[i].figures->part)
			cpa_chain_of(t->build->names, t->function[i].figures->part->row,
				     &t->function[i].chain);
	qsort(t->function, t->functions, sizeof(*t->function), compare_functions);
}

/* Whether @context, 0 at a thread's start, and those above it are the callers of @f. */
static bool is_called_by(const struct tree *t, const struct function *f, uint32_t context)
{
	const struct cpa_chain *chain = &f->chain;
	const struct cpa_context_figures *c;
	uint32_t n = 0, module;
	uint64_t offset;

	for (; context; context = c->caller) {
		c = &t->contexts->context[context - 1];
		if (c->inlined)
			continue;
		if (n == t->build->profile->program.by_callers)
			return true;
		if (!c->module && !c->offset) /* callers not found */
			return n == chain->callers && chain->cut;
		if (n == chain->callers)
			return false;
		cpa_build_site(t->build, chain->site[n++], &module, &offset);
		if (module != c->module || offset != c->offset)
			return false;
	}
	return n == chain->callers && !chain->cut;
}

/*
 * The function there, or the part of it that @caller called; NULL: there is none, or it shares its
 * slot.
 */
static const struct cpa_component_figures *function_at(const struct tree *t, uint32_t module,
						       uint64_t offset, uint32_t caller)
{
	const struct cpa_component_figures wanted = { .module = module, .offset = offset };
	const struct function key = { .figures = &wanted }, *found,
			      *end = t->function + t->functions;

	if (!module && !offset)
		return NULL;
	found = bsearch(&key, t->function, t->functions, sizeof(key), compare_functions);
	while (found && found > t->function && !compare_functions(found - 1, &key))
		found--;
	for (; found && found < end && !compare_functions(found, &key); found++)
		if (!found->figures->part || is_called_by(t, found, caller))
			return found->figures;
	return NULL;
}

static hashval_t hash_entry(const void *entry)
{
	const struct cpa_context_figures *c = &((const struct entry *)entry)->is;
	hashval_t hash = iterative_hash_object(c->offset, c->caller);

	return iterative_hash_object(c->at, iterative_hash(c->name, strlen(c->name), hash));
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static int is_same_entry(const void *a, const void *b)
{
	const struct cpa_context_figures *x = &((const struct entry *)a)->is;
	const struct cpa_context_figures *y = &((const struct entry *)b)->is;

	return x->caller == y->caller && x->module == y->module && x->offset == y->offset &&
	       x->at == y->at && !x->inlined == !y->inlined && is_same_text(x->name, y->name) &&
	       is_same_text(x->location, y->location) && is_same_text(x->line, y->line);
}

static char *copy(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

/*
 * Return the number of the context that equals @wanted; make it if there is none. Its texts are
 * copied.
 */
static uint32_t find_context(struct tree *t, const struct cpa_context_figures *wanted)
{
	struct cpa_contexts *contexts = t->contexts;
	struct entry key = { .is = *wanted }, *entry;
	void **slot = htab_find_slot(t->known, &key, INSERT);

	if (*slot)
		return ((struct entry *)*slot)->number;
	if (contexts->count == t->room) {
		t->room = 2 * t->room + 64;
		contexts->context =
			XRESIZEVEC(struct cpa_context_figures, contexts->context, t->room);
	}
	entry = xmalloc(sizeof(*entry));
	entry->is = *wanted;
	entry->is.name = copy(wanted->name);
	entry->is.inlined = copy(wanted->inlined);
	entry->is.location = copy(wanted->location);
	entry->is.line = copy(wanted->line);
	contexts->context[contexts->count++] = entry->is;
	entry->number = (uint32_t)contexts->count;
	*slot = entry;
	return entry->number;
}

/*
 * Set the place of @c if lines are wanted: that of @location, "/src/queue.c:88", if it has a line,
 * else that of site row @at.
 */
static void set_place(const struct tree *t, struct cpa_context_figures *c, char *location,
		      uint32_t at)
{
	const char *colon = location ? strrchr(location, ':') : NULL;
	uint32_t module;

	c->line = NULL;
	c->at = 0;
	if (t->build->graph != CPA_GRAPH_LINES)
		return;
	if (colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")])
		c->line = location;
	else
		cpa_build_site(t->build, at, &module, &c->at);
}

/*
 * The innermost context at the instruction of site row @at, 0: not known, of the function of site
 * row @function, which context @caller calls. 0: the function has no name.
 */
static uint32_t enter(struct tree *t, uint32_t caller, uint32_t function, uint32_t at)
{
	const struct cpa_place *its = cpa_names_site(t->build->names, function, false);
	const struct cpa_place *place = cpa_names_instruction(t->build->names, at);
	char *fields = copy(place->inlined), *rest = fields, *name = NULL;
	struct cpa_context_figures c = { .caller = caller,
					 .name = its->name,
					 .location = its->location };
	uint32_t number = 0;

	c.depth = caller ? t->contexts->context[caller - 1].depth + 1 : 0;
	cpa_build_site(t->build, function, &c.module, &c.offset);
	c.component = function_at(t, c.module, c.offset, caller);
	while (rest && c.name && c.depth < DEEPEST) {
		char *inlined = strsep(&rest, "\t"), *location = strsep(&rest, "\t");
		char *call = strsep(&rest, "\t");

		if (!call)
			break;
		set_place(t, &c, call, at);
		c.caller = find_context(t, &c);
		c.depth++;
		free(name);
		c.name = name = cpa_format_text("%s (inlined)", inlined);
		c.inlined = inlined;
		c.location = *location ? location : NULL;
	}
	if (c.name && c.depth <= DEEPEST) {
		set_place(t, &c, place->location, at);
		number = find_context(t, &c);
	}
	free(name);
	free(fields);
	return number;
}

/*
 * The row of the site of the function of site row @site on stacks; store that of its call, 0: none.
 */
static uint32_t function_of(const struct cpa_names *names, uint32_t site, uint32_t *call)
{
	const struct cpa_site *row = site && site <= names->sites ? &names->site[site - 1] : NULL;
	bool is_call = row && row->key & CPA_SITE_CALL;

	*call = is_call ? site : 0;
	return is_call ? row->function : site;
}

static void read_row(struct tree *t, uint32_t number, const struct cpa_context *row)
{
	static char unknown[] = "(callers not found)";
	struct read_row *r = &t->row[number];
	uint32_t caller = (uint32_t)(row->key >> 32), call;

	r->parts = row->key == CPA_CONTEXT_PARTS || row->key == CPA_CONTEXT_PARTS_CUT ||
		   (caller < number && t->row[caller].parts);
	if (r->parts)
		return;
	r->cpu_s = cpa_build_seconds(t->build, row->ticks);
	if (row->key == CPA_CONTEXT_CUT) {
		t->contexts->of_row[number] =
			find_context(t, &(struct cpa_context_figures){ .name = unknown });
		return;
	}
	r->function = function_of(t->build->names, (uint32_t)row->key, &call);
	r->caller = caller < number ? t->contexts->of_row[caller] : 0;
	if (t->build->graph < CPA_GRAPH_STACKS)
		call = 0;
	if (caller < number)
		t->contexts->of_row[number] = enter(t, r->caller, r->function, call);
	if (!t->contexts->of_row[number])
		cpa_dump_skip(t->build->dump, CPA_TABLE_CONTEXTS);
}

static int compare_taken(const void *a, const void *b)
{
	const struct taken *x = a, *y = b;

	if (x->context != y->context)
		return x->context < y->context ? -1 : 1;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* The stacks whose context is known, by context and instruction. */
static size_t list_stacks(const struct tree *t, struct taken *taken)
{
	struct cpa_dump *dump = t->build->dump;
	struct cpa_stack stack;
	size_t count = 0;

	for (uint32_t i = 1; i <= dump->rows[CPA_TABLE_STACKS]; i++)
		if (cpa_dump_row(dump, CPA_TABLE_STACKS, i, &stack, sizeof(stack)) &&
		    stack.key > 1 && stack.key - 1 <= dump->rows[CPA_TABLE_CONTEXTS])
			taken[count++] = (struct taken){ .row = i,
							 .context = (uint32_t)stack.key - 1,
							 .at = stack.at,
							 .ticks = stack.ticks };
	qsort(taken, count, sizeof(*taken), compare_taken);
	return count;
}

/* The innermost context of a stack; 0: it has no name. */
static uint32_t leaf_of(struct tree *t, const struct taken *taken)
{
	const struct read_row *r = &t->row[taken->context];
	uint32_t context = t->contexts->of_row[taken->context];

	if (!context || !r->function || !taken->at || t->build->graph < CPA_GRAPH_STACKS)
		return context;
	return enter(t, r->caller, r->function, taken->at);
}

/*
 * Divide the CPU time of a row by the ticks of its @count stacks. @leaf: the innermost context of
 * each.
 */
static void divide(struct tree *t, const struct taken *taken, size_t count, const uint32_t *leaf)
{
	struct read_row *r = &t->row[taken->context];
	double cpu_s = r->cpu_s, sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += (double)taken[i].ticks;
	if (sum <= 0 || !t->contexts->of_row[taken->context])
		return;
	r->cpu_s = 0;
	for (size_t i = 0; i < count; i++)
		t->contexts->context[leaf[taken[i].row] - 1].cpu_s +=
			cpu_s * (double)taken[i].ticks / sum;
}

/* Set @leaf of the stacks, a row each, and divide the time of their rows of contexts. */
static void find_leaves(struct tree *t, const struct taken *taken, size_t count, uint32_t *leaf)
{
	size_t from = 0;

	for (size_t i = 0; i < count; i++) {
		bool known = i > from && taken[i].at == taken[i - 1].at;

		leaf[taken[i].row] = known ? leaf[taken[i - 1].row] : leaf_of(t, &taken[i]);
		if (i + 1 < count && taken[i + 1].context == taken[i].context)
			continue;
		divide(t, taken + from, i + 1 - from, leaf);
		from = i + 1;
	}
}

/* The time of each row that its stacks did not get. */
static void add_rows(const struct tree *t, uint32_t rows)
{
	for (uint32_t i = 1; i <= rows; i++) {
		uint32_t context = t->contexts->of_row[i];

		if (context)
			t->contexts->context[context - 1].cpu_s += t->row[i].cpu_s;
	}
}

uint32_t *cpa_build_context_tree(struct cpa_build *build)
{
	struct cpa_contexts *contexts = build->profile->contexts;
	uint32_t rows = build->dump->rows[CPA_TABLE_CONTEXTS];
	uint32_t stacks = build->dump->rows[CPA_TABLE_STACKS];
	uint32_t *leaf = xcalloc((size_t)stacks + 1, sizeof(*leaf));
	struct taken *taken = xcalloc((size_t)stacks + 1, sizeof(*taken));
	struct tree t = {
		.build = build,
		.contexts = contexts,
		.known = htab_create(64, hash_entry, is_same_entry, free),
		.row = xcalloc((size_t)rows + 1, sizeof(*t.row)),
	};
	struct cpa_context row;

	contexts->of_row = xcalloc((size_t)rows + 1, sizeof(*contexts->of_row));
	list_functions(&t);
	for (uint32_t i = 1; i <= rows; i++)
		if (cpa_dump_row(build->dump, CPA_TABLE_CONTEXTS, i, &row, sizeof(row)))
			read_row(&t, i, &row);
	find_leaves(&t, taken, list_stacks(&t, taken), leaf);
	add_rows(&t, rows);
	htab_delete(t.known);
	free(t.function);
	free(t.row);
	free(taken);
	return leaf;
}
