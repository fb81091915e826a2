/* SPDX-License-Identifier: MIT */
#include "analysis/render/callers_text.h"

#include <inttypes.h>
#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/derived/find.h"
#include "analysis/derived/function.h"
#include "analysis/render/uses_text.h"
#include "analysis/util/format.h"
#include "analysis/profile/components.h"
#include "analysis/profile/modules.h"

#define FIRST	3u    /* functions whose callers are named beside the table of components */
#define LEAST	0.005 /* of the whole: smaller parts have no line */
#define DEEPEST 40u   /* steps of indentation that are shown */

/* A table of contexts that is being written. */
struct listing {
	const struct cpa_profile *profile;
	const struct cpa_page *page;
	struct cpa_table_text table;
	double whole_s; /* of the root */
	uint64_t stacks;
	size_t lines, top, left_out;
};

static bool has_stacks(const struct cpa_profile *profile, char **error)
{
	if (profile->contexts)
		return true;
	*error = xstrdup("no stacks were taken in this run: run it again without CPA_STACKS=0");
	return false;
}

static void put_line(struct listing *l, double path_s, double cpu_s, uint64_t stacks, char *name)
{
	double part_error = l->stacks ? cpa_callers_error(stacks, l->stacks) : 0;
	struct cpa_figure path = cpa_format_seconds(path_s), cpu = cpa_format_seconds(cpu_s);
	struct cpa_figure share = cpa_format_percent(path_s, l->whole_s);
	struct cpa_figure error = cpa_format_percent(part_error, 1);
	struct cpa_figure count = cpa_format_count(stacks);
	const char *cells[] = { path.text, share.text, error.text, count.text, cpu.text, name };

	if (l->lines < l->top)
		cpa_table_row(&l->table, cells);
	else
		l->left_out++;
	l->lines++;
	free(name);
}

/* "  f <- g <- h": @node, and callers as long as there is only one that matters. */
static char *chain(const struct cpa_callers **node, unsigned depth)
{
	char *label = cpa_context_label((*node)->context), *longer;
	char *text = cpa_format_text("%*s%s", (int)(2 * depth), "", label);

	while ((*node)->callers && (*node)->caller[0].path_s >= (1 - LEAST) * (*node)->path_s) {
		*node = &(*node)->caller[0];
		free(label);
		label = cpa_context_label((*node)->context);
		longer = cpa_format_text("%s <- %s", text, label);
		free(text);
		text = longer;
	}
	free(label);
	return text;
}

static void put_callers(struct listing *l, const struct cpa_callers *node, unsigned depth)
{
	for (size_t i = 0; i < node->callers; i++) {
		const struct cpa_callers *caller = &node->caller[i], *last = caller;
		char *text;

		if (caller->path_s < LEAST * l->whole_s || caller->path_s <= 0)
			break;
		text = chain(&last, depth);
		put_line(l, caller->path_s, caller->cpu_s, caller->stacks, text);
		if (depth < DEEPEST)
			put_callers(l, last, depth + 1);
	}
}

static void begin(struct listing *l, const char *names)
{
	cpa_table_column(&l->table, "path", false);
	cpa_table_column(&l->table, "share", false);
	cpa_table_column(&l->table, "+-", false);
	cpa_table_column(&l->table, "stacks", false);
	cpa_table_column(&l->table, "CPU", false);
	cpa_table_column(&l->table, names, true);
}

static void end(struct listing *l, const char *note)
{
	cpa_table_end(&l->table, l->page);
	cpa_page_foot(l->page, l->lines, l->top, note);
}

/* Write @f and its callers: @root, which is freed. @empty: page, profile and top of the table. */
static void put_function(const struct listing *empty, const struct cpa_function *f,
			 struct cpa_callers *root)
{
	struct listing l = *empty;
	double all_s = l.profile->program.critical_path_s;
	char *text = cpa_format_text("%s has %s of the critical path, %s, by %" PRIu64
				     " stacks on it; %s of CPU time",
				     f->name, cpa_format_percent(f->critical_path_s, all_s).text,
				     cpa_format_seconds(f->critical_path_s).text, root->stacks,
				     cpa_format_seconds(f->total_s).text);

	l.whole_s = f->critical_path_s;
	l.stacks = root->stacks;
	cpa_page_heading(l.page, text);
	if (root->stacks) {
		begin(&l, "called by");
		put_callers(&l, root, 0);
		end(&l, "+-: standard error of the share.");
	}
	if (f->divided)
		cpa_page_paragraph(
			l.page, CPA_FAINT, 0,
			"Its parts by who called it are components: what all of it would "
			"save is not known.");
	free(text);
	cpa_callers_free(root);
}

/* By the names of what is inlined. */
static int compare_inlined(const void *a, const void *b)
{
	const struct cpa_context_figures *const *x = a, *const *y = b;

	return strcmp((*x)->inlined, (*y)->inlined);
}

/* Write the inlined functions that @pattern names. Return their number. */
static size_t put_inlined(const struct listing *empty, const char *pattern)
{
	const struct cpa_contexts *contexts = empty->profile->contexts;
	const struct cpa_context_figures **found =
		XCNEWVEC(const struct cpa_context_figures *, contexts->count + 1);
	size_t count = 0, shown = 0;

	for (size_t i = 0; i < contexts->count; i++) {
		const char *name = contexts->context[i].inlined;

		if (name && cpa_is_named(empty->profile, CPA_FUNCTION, 0, name, pattern))
			found[count++] = &contexts->context[i];
	}
	qsort(found, count, sizeof(const struct cpa_context_figures *), compare_inlined);
	for (size_t i = 0; i < count; i++) {
		struct cpa_function f = { .name = found[i]->name };
		struct cpa_callers *root;

		if (i && !compare_inlined(&found[i - 1], &found[i]))
			continue;
		root = cpa_callers_of_inlined(contexts, found[i]->inlined);
		f.critical_path_s = root->path_s;
		f.total_s = root->cpu_s;
		put_function(empty, &f, root);
		shown++;
	}
	free(found);
	return shown;
}

bool cpa_text_callers(const struct cpa_page *page, const struct cpa_profile *profile,
		      const char *pattern, size_t top, char **error)
{
	const struct listing empty = { .profile = profile, .page = page, .top = top };
	size_t found = 0;

	if (!has_stacks(profile, error))
		return false;
	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *c = &profile->component[i];
		struct cpa_function f;

		if (c->kind != CPA_FUNCTION || !cpa_is_function_named(profile, c, pattern))
			continue;
		f = cpa_function_of(profile, c);
		if (f.first != c)
			continue;
		put_function(&empty, &f, cpa_callers_of(profile->contexts, c));
		found++;
	}
	found += put_inlined(&empty, pattern);
	found += cpa_text_uses(page, profile, pattern, top);
	if (!found)
		*error = cpa_format_text(
			"no function or lock %s was sampled (see --level component; "
			"* and ? stand for any characters)",
			pattern);
	return found != 0;
}

/* Sums of each context with what it called. */
struct sums {
	double *path_s, *cpu_s;
	uint64_t *stacks;
	uint32_t *first, *next; /* contexts that it called, as lists; 0: the end */
};

static void add_up(struct sums *s, const struct cpa_contexts *contexts)
{
	size_t n = contexts->count;

	s->path_s = xcalloc(n + 1, sizeof(*s->path_s));
	s->cpu_s = xcalloc(n + 1, sizeof(*s->cpu_s));
	s->stacks = xcalloc(n + 1, sizeof(*s->stacks));
	s->first = xcalloc(n + 1, sizeof(*s->first));
	s->next = xcalloc(n + 1, sizeof(*s->next));
	/* Callers have lower numbers, and number 0 is above all threads' starts. */
	for (size_t i = n; i > 0; i--) {
		const struct cpa_context_figures *c = &contexts->context[i - 1];
		uint32_t caller = c->caller;

		s->path_s[i] += c->path_s;
		s->cpu_s[i] += c->cpu_s;
		s->stacks[i] += c->stacks;
		s->path_s[caller] += s->path_s[i];
		s->cpu_s[caller] += s->cpu_s[i];
		s->stacks[caller] += s->stacks[i];
		s->next[i] = s->first[caller];
		s->first[caller] = (uint32_t)i;
	}
}

static void free_sums(struct sums *s)
{
	free(s->path_s);
	free(s->cpu_s);
	free(s->stacks);
	free(s->first);
	free(s->next);
}

/* The heaviest context that @of called and that is lighter than @below, or as heavy and later. */
static uint32_t next_heaviest(const struct sums *s, uint32_t of, uint32_t below)
{
	uint32_t best = 0;

	for (uint32_t i = s->first[of]; i; i = s->next[i]) {
		bool later = !below || s->path_s[i] < s->path_s[below] ||
			     (s->path_s[i] == s->path_s[below] && i > below);
		bool better = !best || s->path_s[i] > s->path_s[best] ||
			      (s->path_s[i] == s->path_s[best] && i < best);

		if (later && better)
			best = i;
	}
	return best;
}

static void put_called(struct listing *l, const struct sums *s, uint32_t of, unsigned depth)
{
	const struct cpa_context_figures *context = l->profile->contexts->context;
	char *label;

	for (uint32_t i = next_heaviest(s, of, 0); i; i = next_heaviest(s, of, i)) {
		if (s->path_s[i] < LEAST * l->whole_s || s->path_s[i] <= 0)
			break;
		label = cpa_context_label(&context[i - 1]);
		put_line(l, s->path_s[i], s->cpu_s[i], s->stacks[i],
			 cpa_format_text("%*s%s", (int)(2 * depth), "", label));
		free(label);
		if (depth < DEEPEST)
			put_called(l, s, i, depth + 1);
	}
}

bool cpa_text_tree(const struct cpa_page *page, const struct cpa_profile *profile, size_t top,
		   char **error)
{
	struct listing l = { .profile = profile, .page = page, .top = top };
	struct sums sums;
	char *text;

	if (!has_stacks(profile, error))
		return false;
	add_up(&sums, profile->contexts);
	l.whole_s = profile->program.critical_path_s;
	l.stacks = sums.stacks[0];
	text = cpa_format_text(
		"The critical path by who called whom: %s of its %s have stacks, %" PRIu64
		" of them",
		cpa_format_seconds(sums.path_s[0]).text, cpa_format_seconds(l.whole_s).text,
		l.stacks);
	cpa_page_heading(page, text);
	begin(&l, "function, and below it what it called");
	put_called(&l, &sums, 0, 0);
	end(&l, "+-: standard error of the share.");
	free(text);
	free_sums(&sums);
	return true;
}

static void put_part(struct cpa_table_text *table, const struct cpa_profile *profile,
		     const struct cpa_context_part *part, bool exact)
{
	double path_s = profile->program.critical_path_s;
	struct cpa_figure most = cpa_format_seconds(part->saved_most_s);
	struct cpa_figure path = cpa_format_percent(part->path_s, path_s);
	struct cpa_figure error = cpa_format_percent(part->error_s, path_s);
	struct cpa_figure stacks = cpa_format_count(part->stacks);
	struct cpa_figure cpu = cpa_format_percent(part->cpu_s, profile->program.cpu_s);

	const char *cells[CPA_TABLE_COLUMNS];
	size_t count = 0;

	cells[count++] = most.text;
	cells[count++] = path.text;
	if (!exact)
		cells[count++] = error.text;
	cells[count++] = stacks.text;
	cells[count++] = cpu.text;
	cells[count++] = part->name;
	cells[count] = part->callers;
	cpa_table_row(table, cells);
}

void cpa_text_contexts(const struct cpa_page *page, const struct cpa_profile *profile,
		       uint32_t callers, size_t top)
{
	struct cpa_context_parts parts = cpa_context_parts(profile, callers);
	struct cpa_table_text table = { 0 };

	if (parts.count) {
		cpa_page_heading(page, "Functions by who called them");
		cpa_table_column(&table, parts.exact ? "saves" : "saves <=", false);
		cpa_table_column(&table, "path", false);
		if (!parts.exact)
			cpa_table_column(&table, "+-", false);
		cpa_table_column(&table, "stacks", false);
		cpa_table_column(&table, "CPU", false);
		cpa_table_column(&table, "function", true);
		cpa_table_column(&table, "called by", true);
		if (parts.exact)
			cpa_table_chains(&table);
		for (size_t i = 0; i < parts.count && i < top; i++)
			put_part(&table, profile, &parts.part[i], parts.exact);
		cpa_table_end(&table, page);
		cpa_page_foot(
			page, parts.count, top,
			parts.exact ?
				"saves: what the run would gain. path: share of the critical path. Both are of "
				"components, as the run divided functions by so many callers, and no estimates "
				"by stacks." :
				"saves <=: what the run would gain at most. path: share of the "
				"critical path, by the stacks on it; the parts of a function, and of "
				"what is inlined in it, add up to its own share. +-: standard error of that.");
	}
	cpa_context_parts_fini(&parts);
}

/* Whether it is a function of a library: then whoever called it is the one to look at. */
static bool is_of_library(const struct cpa_profile *profile,
			  const struct cpa_component_figures *function)
{
	const struct cpa_module_figures *module =
		function->module ? &profile->module[function->module - 1] : NULL;

	return module && module->path && strcmp(module->path, profile->program.exe) != 0;
}

void cpa_text_called_by(const struct cpa_page *page, const struct cpa_profile *profile)
{
	char *text = NULL;

	for (size_t i = 0, n = 0; i < profile->components && n < FIRST; i++) {
		const struct cpa_component_figures *c = &profile->component[i];

		if (c->kind != CPA_FUNCTION || c->shared || c->part || c->saved_s <= 0)
			continue;
		n++;
		if (!profile->contexts && is_of_library(profile, c)) {
			text = cpa_format_text("%s is in a library: to see who called it, run the "
					       "program without CPA_STACKS=0.",
					       c->name);
			n = FIRST;
		} else if (c->callers) {
			text = cpa_format_text("%s is called by %s.", c->name, c->callers);
		}
		if (text)
			cpa_page_paragraph(page, CPA_PLAIN, 2, text);
		free(text);
		text = NULL;
	}
}
