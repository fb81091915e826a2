/* SPDX-License-Identifier: MIT */
#include "analysis/exact/context.h"

#include <jansson.h>
#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/derived/function.h"
#include "analysis/util/format.h"
#include "analysis/util/printable.h"
#include "analysis/exact/walk.h"
#include "analysis/profile/components.h"

#define PATHS 3

static const char *const kind_name[] = {
	[CPA_FUNCTION] = "function", [CPA_LOCK] = "lock",   [CPA_REGION] = "region",
	[CPA_THREAD] = "thread",     [CPA_QUEUE] = "queue", [CPA_EXTERNAL] = "external",
};

/* A path and the activities on it. */
struct walked {
	uint64_t len;
	uint64_t *share; /* by slot */
	uint64_t full;	 /* ticks that its activities took in the run, not zeroed */
	uint64_t common; /* part of `full` that is also on the first path */
	/*
	 * Its activities: one bit each, by strand and event number from the strand's first on;
	 * NULL: not wanted.
	 */
	uint8_t **on;
	const struct cpa_journal_file *file;
	const struct walked *first; /* NULL: this is the first path */
};

struct work {
	struct cpa_journal_file file;
	struct cpa_exact *exact;
	const struct cpa_profile *profile;
	const struct cpa_page *page;
	double tick_s;
};

static int begin(struct work *w, struct cpa_dump *dump, const struct cpa_profile *profile,
		 const struct cpa_page *page, char **error)
{
	const struct cpa_header *h = &dump->header;

	*w = (struct work){ .profile = profile, .page = page };
	if (h->last_ticks > h->start_ticks)
		w->tick_s = (double)(h->last_ns - h->start_ns) / 1e9 /
			    (double)(h->last_ticks - h->start_ticks);
	if (!cpa_journal_open(&w->file, dump, error)) {
		if (!*error)
			*error = cpa_format_text("%s: it has no journal (cpa run --journal)",
						 dump->file);
		return -1;
	}
	w->exact = cpa_exact_new(&w->file);
	return 0;
}

static void end(struct work *w)
{
	free(w->exact->zero);
	w->exact->zero = NULL;
	cpa_exact_free(w->exact);
	cpa_journal_close(&w->file);
}

/* An upper bound for the event numbers of @strand: each record has at least one byte. */
static size_t numbers_of(const struct cpa_strand *strand)
{
	return strand->leaves * CPA_JOURNAL_BLOCK;
}

/* The bit of activity @number, in *@byte; NULL: no path keeps it, or the record is damaged. */
static uint8_t bit_of(const struct walked *p, size_t strand, uint32_t number, uint8_t **byte)
{
	const struct cpa_strand *s = &p->file->strand[strand];
	uint32_t at = number - p->file->leaf[s->first].number;

	*byte = p->on && at < numbers_of(s) ? &p->on[strand][at / 8] : NULL;
	return (uint8_t)(1u << at % 8);
}

static bool is_on(const struct walked *p, size_t strand, uint32_t number)
{
	uint8_t *byte, bit = bit_of(p, strand, number, &byte);

	return byte && *byte & bit;
}

static void take_step(void *argument, const struct cpa_step *step)
{
	struct walked *p = argument;
	uint8_t *byte, bit = bit_of(p, step->strand, step->number, &byte);

	p->full += step->full;
	if (p->first && is_on(p->first, step->strand, step->number))
		p->common += step->full;
	for (size_t i = 0; i < step->charges && step->full; i++)
		p->share[step->charge[i].slot] +=
			(uint64_t)((unsigned __int128)step->charge[i].ticks * step->weight /
				   step->full);
	if (byte)
		*byte |= bit;
}

/* Find the longest path in the present context. @bits: also record its activities. */
static void find_path(struct work *w, struct walked *p, const struct walked *first, bool bits)
{
	struct cpa_exact *x = w->exact;

	cpa_exact_run(x);
	*p = (struct walked){ .file = &w->file,
			      .first = first,
			      .share = xcalloc(w->file.slots, sizeof(*p->share)),
			      .on = bits ? xcalloc(w->file.strands + 1, sizeof(*p->on)) : NULL };
	for (size_t i = 0; bits && i < w->file.strands; i++)
		p->on[i] = xcalloc(numbers_of(&w->file.strand[i]) / 8, 1);
	if (w->file.strands)
		p->len = cpa_walk(x, x->longest, x->strand[x->longest].last, take_step, p);
	if (p->len == UINT64_MAX)
		p->len = x->result[0];
}

static void free_path(const struct work *w, struct walked *p)
{
	for (size_t i = 0; p->on && i < w->file.strands; i++)
		free(p->on[i]);
	free(p->on);
	free(p->share);
}

/* Say that the journal holds only the latest events. */
static void say_what_is_missing(const struct work *w)
{
	if (w->file.overwritten || w->file.refused || w->exact->missing)
		cpa_page_paragraph(
			w->page, CPA_ALARM, 2,
			"The journal does not hold the whole run: these figures cover the latest "
			"part only (set a larger CPA_JOURNAL to keep more).");
}

/* The components with a share of @path, largest first, and how many; the caller frees them. */
static size_t *sorted_components(const struct work *w, const struct walked *path, size_t *count)
{
	size_t n = 0, *order = xcalloc(w->profile->components + 1, sizeof(*order));

	for (size_t i = 0; i < w->profile->components; i++) {
		size_t at = n;
		uint32_t slot = w->profile->component[i].slot;

		if (!slot || slot >= w->file.slots || !path->share[slot])
			continue;
		for (; at &&
		       path->share[w->profile->component[order[at - 1]].slot] < path->share[slot];
		     at--)
			order[at] = order[at - 1];
		order[at] = i;
		n++;
	}
	*count = n;
	return order;
}

/* Write the components of the paths, sorted by their share of the first. */
static void write_table(const struct work *w, const struct walked *const of[], size_t paths,
			const char *const heads[], size_t top)
{
	struct cpa_table_text table = { 0 };
	size_t n, *order = sorted_components(w, of[0], &n);

	for (size_t k = 0; k < paths; k++) {
		cpa_table_column(&table, heads[k], false);
		cpa_table_column(&table, "", false);
	}
	cpa_table_column(&table, "kind", true);
	cpa_table_column(&table, "component", true);
	cpa_table_column(&table, "where", true);
	for (size_t i = 0; i < n && i < top; i++) {
		const struct cpa_component_figures *c = &w->profile->component[order[i]];
		struct cpa_figure figure[2 * PATHS];
		const char *cell[2 * PATHS + 3];

		for (size_t k = 0; k < paths; k++) {
			double part = (double)of[k]->share[c->slot];

			figure[2 * k] = cpa_format_seconds(part * w->tick_s);
			figure[2 * k + 1] = cpa_format_percent(part, (double)of[k]->len);
		}
		for (size_t k = 0; k < 2 * paths; k++)
			cell[k] = figure[k].text;
		cell[2 * paths] = kind_name[c->kind];
		cell[2 * paths + 1] = c->name;
		cell[2 * paths + 2] = c->location ? c->location : "";
		cpa_table_row(&table, cell);
	}
	cpa_table_end(&table, w->page);
	cpa_page_foot(w->page, n, top, NULL);
	free(order);
}

static void put_seconds(json_t *object, const char *key, const struct work *w, uint64_t ticks)
{
	json_object_set_new(object, key, json_real((double)ticks * w->tick_s));
}

static json_t *path_json(const struct work *w, const struct walked *path, const char *name)
{
	json_t *object = json_object();

	json_object_set_new(object, "name", json_string(name));
	put_seconds(object, "critical_path_s", w, path->len);
	put_seconds(object, "activities_s", w, path->full);
	if (path->first)
		put_seconds(object, "shared_with_first_s", w, path->common);
	return object;
}

/*
 * Write the paths as JSON, and for each component its share of each path. Components are sorted by
 * their share of the first path. @zero: names of the components that were zeroed, or NULL. Return 0;
 * or -1 with *@error.
 */
static int write_json(const struct work *w, const struct walked *const of[], size_t paths,
		      const char *const heads[], const char *zero, char **error)
{
	json_t *root = json_object(), *list = json_array(), *components = json_array();
	size_t n, *order = sorted_components(w, of[0], &n);
	bool whole = !w->file.overwritten && !w->file.refused && !w->exact->missing;
	int ret;

	for (size_t i = 0; i < paths; i++)
		json_array_append_new(list, path_json(w, of[i], heads[i]));
	for (size_t i = 0; i < n; i++) {
		const struct cpa_component_figures *c = &w->profile->component[order[i]];
		json_t *object = json_object(), *shares = json_array();

		json_object_set_new(object, "kind", json_string(kind_name[c->kind]));
		json_object_set_new(object, "name", json_string(c->name));
		json_object_set_new(object, "location",
				    c->location ? json_string(c->location) : json_null());
		for (size_t k = 0; k < paths; k++)
			json_array_append_new(shares,
					      json_real((double)of[k]->share[c->slot] * w->tick_s));
		json_object_set_new(object, "critical_path_s", shares);
		json_array_append_new(components, object);
	}
	free(order);
	if (zero) {
		char *text = cpa_printable(zero, SIZE_MAX);

		json_object_set_new(root, "zero", json_string(text));
		free(text);
	}
	json_object_set_new(root, "whole_run", json_boolean(whole));
	json_object_set_new(root, "paths", list);
	json_object_set_new(root, "components", components);
	ret = json_dumpf(root, w->page->out, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
	if (ret == 0 && fputc('\n', w->page->out) == EOF)
		ret = -1;
	if (ret < 0)
		*error = xstrdup("the answer cannot be written");
	json_decref(root);
	return ret;
}

/*
 * Length of the name at @text: it ends at a comma that a component kind follows, as names may
 * contain commas.
 */
static size_t name_length(const char *text)
{
	for (const char *p = text; (p = strchr(p, ',')); p++)
		for (size_t k = CPA_FUNCTION; k < ARRAY_SIZE(kind_name); k++)
			if (!strncmp(p + 1, kind_name[k], strlen(kind_name[k])) &&
			    p[1 + strlen(kind_name[k])] == ':')
				return (size_t)(p - text);
	return strlen(text);
}

/* Zero all components that "kind:name" names. Return their number. */
static size_t zero_one(const struct work *w, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < w->profile->components; i++) {
		const struct cpa_component_figures *c = &w->profile->component[i];
		const char *kind = c->kind < ARRAY_SIZE(kind_name) ? kind_name[c->kind] : NULL;
		size_t head = kind ? strlen(kind) : 0;

		if (!kind || strncmp(name, kind, head) != 0 || name[head] != ':' ||
		    !cpa_is_component_named(w->profile, c, name + head + 1))
			continue;
		if (c->slot && c->slot < w->file.slots)
			w->exact->zero[c->slot] = true;
		n++;
	}
	return n;
}

static int zero_all(struct work *w, const char *names, char **error)
{
	w->exact->zero = xcalloc(w->file.slots, sizeof(*w->exact->zero));
	for (const char *p = names;; p++) {
		size_t size = name_length(p);
		char *name = xstrndup(p, size);
		size_t zeroed = zero_one(w, name);

		free(name);
		if (!zeroed) {
			char *text = cpa_printable(p, size);

			*error = cpa_format_text(
				"--zero %s: no such component (give kind:name as listed by "
				"cpa-report --level component; * and ? stand for any characters)",
				text);
			free(text);
			return -1;
		}
		p += size;
		if (!*p)
			return 0;
	}
}

static const char *const zero_heads[] = { "without", "run" };

/* @both: without the components @names, and as recorded. */
static void write_zero(const struct work *w, const struct walked *const both[], const char *names,
		       size_t top)
{
	struct cpa_figure len, then, saved, part;
	char *text;

	len = cpa_format_seconds((double)both[1]->len * w->tick_s);
	then = cpa_format_seconds((double)both[0]->len * w->tick_s);
	saved = cpa_format_seconds((double)(both[1]->len - both[0]->len) * w->tick_s);
	part = cpa_format_percent((double)(both[1]->len - both[0]->len), (double)both[1]->len);
	text = cpa_format_text("critical path %s; without %s: %s (%s less, %s)", len.text, names,
			       then.text, saved.text, part.text);
	cpa_page_paragraph(w->page, CPA_STRONG, 2, text);
	free(text);
	say_what_is_missing(w);
	cpa_page_heading(w->page,
			 "Components of the critical path without them, and of the recorded one");
	write_table(w, both, 2, zero_heads, top);
}

int cpa_context_zero(struct cpa_dump *dump, const struct cpa_profile *profile, const char *names,
		     const struct cpa_page *page, size_t top, bool json, char **error)
{
	struct walked run, other;
	const struct walked *const both[] = { &other, &run };
	struct work w;
	int ret = 0;

	if (begin(&w, dump, profile, page, error) < 0)
		return -1;
	find_path(&w, &run, NULL, false);
	if (zero_all(&w, names, error) < 0) {
		free_path(&w, &run);
		end(&w);
		return -1;
	}
	find_path(&w, &other, NULL, false);
	if (json)
		ret = write_json(&w, both, 2, zero_heads, names, error);
	else
		write_zero(&w, both, names, top);
	free_path(&w, &run);
	free_path(&w, &other);
	end(&w);
	return ret;
}

struct skipped {
	const struct walked *path;
	size_t paths;
};

/* Skip the activities that are on an earlier path: they weigh nothing. */
static bool skip(void *argument, size_t strand, uint32_t number)
{
	const struct skipped *s = argument;

	for (size_t i = 0; i < s->paths; i++)
		if (is_on(&s->path[i], strand, number))
			return true;
	return false;
}

static const char *const path_heads[PATHS] = { "first", "second", "third" };

static void write_paths(const struct work *w, const struct walked *const of[], size_t top)
{
	for (size_t i = 0; i < PATHS; i++) {
		struct cpa_figure len, full, common, part;
		char *text;

		len = cpa_format_seconds((double)of[i]->len * w->tick_s);
		full = cpa_format_seconds((double)of[i]->full * w->tick_s);
		common = cpa_format_seconds((double)of[i]->common * w->tick_s);
		part = cpa_format_percent((double)of[i]->common, (double)of[i]->full);
		text = i ? cpa_format_text(
				   "%s critical path %s; %s of it (%s) is shared with the first "
				   "path; not on an earlier path: %s",
				   path_heads[i], full.text, common.text, part.text, len.text) :
			   cpa_format_text("first critical path %s", len.text);
		cpa_page_paragraph(w->page, CPA_STRONG, 2, text);
		free(text);
	}
	say_what_is_missing(w);
	cpa_page_heading(w->page,
			 "Components of each path, without the activities of the paths before it");
	write_table(w, of, PATHS, path_heads, top);
}

int cpa_context_paths(struct cpa_dump *dump, const struct cpa_profile *profile,
		      const struct cpa_page *page, size_t top, bool json, char **error)
{
	struct walked path[PATHS];
	const struct walked *of[PATHS];
	struct skipped skipped = { .path = path };
	struct work w;
	int ret = 0;

	if (begin(&w, dump, profile, page, error) < 0)
		return -1;
	for (size_t i = 0; i < PATHS; i++) {
		skipped.paths = i;
		w.exact->skip = i ? skip : NULL;
		w.exact->skip_argument = &skipped;
		find_path(&w, &path[i], i ? &path[0] : NULL, true);
		of[i] = &path[i];
	}
	if (json)
		ret = write_json(&w, of, PATHS, path_heads, NULL, error);
	else
		write_paths(&w, of, top);
	for (size_t i = 0; i < PATHS; i++)
		free_path(&w, &path[i]);
	end(&w);
	return ret;
}
