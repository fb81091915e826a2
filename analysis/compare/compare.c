/* SPDX-License-Identifier: MIT */
#include "analysis/compare/compare.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/util/format.h"
#include "analysis/util/printable.h"

const char *cpa_measure_name(enum cpa_measure measure)
{
	static const char *const names[CPA_MEASURES] = {
		[CPA_MEASURE_TOTAL] = "total",	       [CPA_MEASURE_SAVES] = "saves",
		[CPA_MEASURE_PATH] = "path",	       [CPA_MEASURE_WAIT] = "wait",
		[CPA_MEASURE_ITEM_WAIT] = "item wait",
	};

	return names[measure];
}

const char *cpa_change_word(const struct cpa_row *row)
{
	static const char *const words[CPA_CHANGES] = {
		[CPA_CHANGE_UNKNOWN] = "unknown",
		[CPA_CHANGE_SMALL] = "small",
		[CPA_CHANGE_UNCLEAR] = "unclear",
		[CPA_CHANGE_SAME] = "same",
		[CPA_CHANGE_LESS] = "less",
		[CPA_CHANGE_MORE] = "more",
		[CPA_CHANGE_ONLY_BASE] = "only in base",
		[CPA_CHANGE_ONLY_NEW] = "only in new",
	};

	if (row->measure == CPA_MEASURE_TOTAL && row->verdict == CPA_CHANGE_LESS)
		return "faster";
	if (row->measure == CPA_MEASURE_TOTAL && row->verdict == CPA_CHANGE_MORE)
		return "slower";
	return words[row->verdict];
}

struct cpa_sample cpa_row_sample(const struct cpa_comparison *c, const struct cpa_row *row,
				 enum cpa_side_name side)
{
	return (struct cpa_sample){ c->side[side].runs, row->value[side] };
}

void cpa_comparison_warn(struct cpa_comparison *c, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	c->warning = xrealloc(c->warning, (c->warnings + 1) * sizeof(*c->warning));
	c->warning[c->warnings++] = cpa_format_args(format, args);
	va_end(args);
}

/* Where a value belongs. */
struct place {
	struct cpa_comparison *c;
	const json_t *report;
	double scale; /* from the time that was profiled to that of the run */
	enum cpa_side_name side;
	size_t run;
};

static struct cpa_row *find_row(struct cpa_comparison *c, enum cpa_measure measure, const char *key)
{
	for (size_t i = 0; i < c->rows; i++)
		if (c->row[i].measure == measure && strcmp(c->row[i].key, key) == 0)
			return &c->row[i];
	return NULL;
}

/* Add @seconds to the row of @key; several of one name in a run are summed. */
static void add(const struct place *at, enum cpa_measure measure, const char *key, const char *kind,
		const char *name, double seconds)
{
	struct cpa_comparison *c = at->c;
	struct cpa_row *row = find_row(c, measure, key);

	if (!row) {
		c->row = xrealloc(c->row, (c->rows + 1) * sizeof(*c->row));
		row = &c->row[c->rows++];
		*row = (struct cpa_row){
			.measure = measure,
			.key = xstrdup(key),
			.kind = kind ? cpa_printable(kind, SIZE_MAX) : NULL,
			.name = cpa_printable(name, SIZE_MAX),
		};
		for (unsigned side = 0; side < CPA_SIDES; side++)
			row->value[side] =
				xcalloc(c->side[side].runs + 1, sizeof(*row->value[side]));
	}
	row->present[at->side]++;
	row->value[at->side][at->run] += seconds;
}

/* The build id of the module of @component; "": none is known. */
static const char *build_of(const struct place *at, const json_t *component)
{
	const json_t *module = json_object_get(component, "module");
	const json_t *modules = json_object_get(at->report, "modules");
	const char *id;

	if (!module)
		return "";
	module = json_array_get(modules, (size_t)json_integer_value(module));
	id = json_string_value(json_object_get(module, "build_id"));
	return id ? id : "";
}

/* A lock class has the module of its component. */
static const char *build_of_lock(const struct place *at, const char *class)
{
	const json_t *components = json_object_get(at->report, "components");

	for (size_t i = 0; i < json_array_size(components); i++) {
		const json_t *component = json_array_get(components, i);
		const char *kind = json_string_value(json_object_get(component, "kind"));
		const char *name = json_string_value(json_object_get(component, "name"));

		if (kind && name && strcmp(kind, "lock") == 0 && strcmp(name, class) == 0)
			return build_of(at, component);
	}
	return "";
}

static char *make_key(const char *kind, const char *name, const char *build)
{
	bool address = strstr(name, "+0x");

	return cpa_format_text("%s\n%s\n%s", kind, name, address ? build : "");
}

static void add_component(const struct place *at, const json_t *component)
{
	const char *kind = json_string_value(json_object_get(component, "kind"));
	const char *name = json_string_value(json_object_get(component, "name"));
	char *key;

	if (!kind || !name)
		return;
	key = make_key(kind, name, build_of(at, component));
	add(at, CPA_MEASURE_SAVES, key, kind, name,
	    at->scale * json_number_value(json_object_get(component, "saved_s")));
	add(at, CPA_MEASURE_PATH, key, kind, name,
	    at->scale * json_number_value(json_object_get(component, "critical_path_s")));
	free(key);
}

static void add_named(const struct place *at, enum cpa_measure measure, const json_t *object,
		      const char *kind, const char *name_key, const char *value_key)
{
	const char *name = json_string_value(json_object_get(object, name_key));
	double scale = measure == CPA_MEASURE_ITEM_WAIT ? 1 : at->scale; /* that one is a mean */
	char *key;

	if (!kind || !name)
		return;
	key = make_key(kind, name, measure == CPA_MEASURE_WAIT ? build_of_lock(at, name) : "");
	add(at, measure, key, kind, name,
	    scale * json_number_value(json_object_get(object, value_key)));
	free(key);
}

static void add_run(const struct place *at)
{
	static const struct {
		const char *name, *key;
	} totals[] = { { "critical path", "critical_path_s" },
		       { "CPU", "cpu_s" },
		       { "wall", "wall_s" } };
	const json_t *program = json_object_get(at->report, "program");
	const json_t *components = json_object_get(at->report, "components");
	const json_t *objects = json_object_get(at->report, "objects");
	const json_t *queues = json_object_get(at->report, "queues");

	for (size_t i = 0; i < ARRAY_SIZE(totals); i++)
		add(at, CPA_MEASURE_TOTAL, totals[i].name, NULL, totals[i].name,
		    at->scale * json_number_value(json_object_get(program, totals[i].key)));
	for (size_t i = 0; i < json_array_size(components); i++)
		add_component(at, json_array_get(components, i));
	for (size_t i = 0; i < json_array_size(objects); i++) {
		const json_t *object = json_array_get(objects, i);

		add_named(at, CPA_MEASURE_WAIT, object,
			  json_string_value(json_object_get(object, "kind")), "class", "wait_s");
	}
	for (size_t i = 0; i < json_array_size(queues); i++)
		add_named(at, CPA_MEASURE_ITEM_WAIT, json_array_get(queues, i), "queue", "name",
			  "item_wait_s");
}

static double larger_mean(const struct cpa_comparison *c, const struct cpa_row *row)
{
	return fmax(cpa_mean(cpa_row_sample(c, row, CPA_BASE)),
		    cpa_mean(cpa_row_sample(c, row, CPA_NEW)));
}

/* For compare_rows(): qsort() passes nothing else. */
static const struct cpa_comparison *sorted;

static int compare_rows(const void *a, const void *b)
{
	const struct cpa_row *x = a, *y = b;
	double mean_x = larger_mean(sorted, x), mean_y = larger_mean(sorted, y);

	if (x->measure != y->measure)
		return x->measure < y->measure ? -1 : 1;
	if (x->measure != CPA_MEASURE_TOTAL && mean_x != mean_y)
		return mean_x > mean_y ? -1 : 1;
	return strcmp(x->key, y->key);
}

static void sort_rows(struct cpa_comparison *c)
{
	size_t totals = 0;

	/* Those of the first run came first, in their order. */
	while (totals < c->rows && c->row[totals].measure == CPA_MEASURE_TOTAL)
		totals++;
	sorted = c;
	qsort(c->row + totals, c->rows - totals, sizeof(*c->row), compare_rows);
}

static void measure(struct cpa_comparison *c, struct cpa_row *row, double small)
{
	struct cpa_sample from = cpa_row_sample(c, row, CPA_BASE);
	struct cpa_sample to = cpa_row_sample(c, row, CPA_NEW);
	double base = cpa_mean(from);

	row->change = base > 0 ? cpa_mean(to) / base - 1 : NAN;
	row->ratio = cpa_ratio_interval(from, to);
	row->difference = cpa_difference_interval(from, to);
	row->p = row->p_holm = NAN;
	if (row->measure != CPA_MEASURE_TOTAL && larger_mean(c, row) < small)
		row->verdict = CPA_CHANGE_SMALL;
	else if (!row->present[CPA_BASE] || !row->present[CPA_NEW])
		row->verdict = row->present[CPA_BASE] ? CPA_CHANGE_ONLY_BASE : CPA_CHANGE_ONLY_NEW;
	else if (from.count < 2 || to.count < 2)
		row->verdict = CPA_CHANGE_UNKNOWN;
	else
		row->p = row->p_holm = cpa_permutation(from, to);
}

/* Correct the questions of each measure together. */
static void correct(struct cpa_comparison *c)
{
	double *p = xcalloc(c->rows + 1, sizeof(*p));

	for (unsigned m = 0; m < CPA_MEASURES; m++) {
		for (size_t i = 0; i < c->rows; i++)
			p[i] = c->row[i].measure == m ? c->row[i].p : NAN;
		cpa_holm(p, c->rows);
		for (size_t i = 0; i < c->rows; i++)
			if (c->row[i].measure == m)
				c->row[i].p_holm = p[i];
	}
	free(p);
}

struct cpa_interval cpa_row_growth(const struct cpa_comparison *c, const struct cpa_row *row)
{
	double base = cpa_mean(cpa_row_sample(c, row, CPA_BASE));
	double new = cpa_mean(cpa_row_sample(c, row, CPA_NEW));

	if (isnan(row->difference.low) || (base > 0 && new > 0))
		return (struct cpa_interval){ row->ratio.low - 1, row->ratio.high - 1 };
	if (base > 0) /* to nothing */
		return (struct cpa_interval){ -1, row->difference.high < 0 ? -1 : INFINITY };
	if (new > 0) /* from nothing */
		return (struct cpa_interval){ row->difference.low > 0 ? INFINITY : -1, INFINITY };
	return (struct cpa_interval){ 0, 0 };
}

static void judge(const struct cpa_comparison *c, struct cpa_row *row)
{
	struct cpa_interval growth = cpa_row_growth(c, row);
	double low = growth.low, high = growth.high;

	if (isnan(row->p))
		return;
	if (low >= -c->least && high <= c->least)
		row->verdict = CPA_CHANGE_SAME;
	else if (row->p_holm < CPA_COMPARE_SURE && low > c->least)
		row->verdict = CPA_CHANGE_MORE;
	else if (row->p_holm < CPA_COMPARE_SURE && high < -c->least)
		row->verdict = CPA_CHANGE_LESS;
	else
		row->verdict = CPA_CHANGE_UNCLEAR;
}

void cpa_compare(struct cpa_comparison *c)
{
	struct place at = { .c = c };
	const struct cpa_row *path;
	double small;

	for (at.side = 0; at.side < CPA_SIDES; at.side++) {
		for (at.run = 0; at.run < c->side[at.side].runs; at.run++) {
			at.report = c->side[at.side].run[at.run];
			at.scale = 1 / cpa_side_profiled(at.report);
			add_run(&at);
		}
	}
	sort_rows(c);
	path = find_row(c, CPA_MEASURE_TOTAL, "critical path");
	small = CPA_COMPARE_SMALL * larger_mean(c, path);
	for (size_t i = 0; i < c->rows; i++)
		measure(c, &c->row[i], small);
	correct(c);
	for (size_t i = 0; i < c->rows; i++)
		judge(c, &c->row[i]);
	cpa_comparison_doubt(c);
}

void cpa_comparison_fini(struct cpa_comparison *c)
{
	for (size_t i = 0; i < c->rows; i++) {
		free(c->row[i].key);
		free(c->row[i].kind);
		free(c->row[i].name);
		for (unsigned side = 0; side < CPA_SIDES; side++)
			free(c->row[i].value[side]);
	}
	free(c->row);
	for (size_t i = 0; i < c->warnings; i++)
		free(c->warning[i]);
	free(c->warning);
	for (unsigned side = 0; side < CPA_SIDES; side++)
		cpa_side_fini(&c->side[side]);
}
