/* SPDX-License-Identifier: MIT */
/* analysis/compare/compare_json.c - a comparison as JSON, with all values */
#include <math.h>

#include "analysis/compare/compare_write.h"
#include "analysis/page/html.h"
#include "analysis/render/json_put.h"

#define DIGITS 15
#define SCHEMA 1

static void put_number(json_t *object, const char *key, double value)
{
	/* JSON has no infinity: a growth from nothing has no number. */
	if (isfinite(value))
		json_object_set_new(object, key, json_real(value));
	else
		json_object_set_new(object, key, json_null());
}

static json_t *interval_json(struct cpa_interval interval)
{
	json_t *object = json_object();

	put_number(object, "low", interval.low);
	put_number(object, "high", interval.high);
	return object;
}

static json_t *values_json(const struct cpa_comparison *c, const struct cpa_row *row,
			   enum cpa_side_name side)
{
	struct cpa_sample sample = cpa_row_sample(c, row, side);
	json_t *object = json_object();

	put_count(object, "present", row->present[side]);
	put_number(object, "mean", cpa_mean(sample));
	put_number(object, "median", cpa_median(sample));
	put_number(object, "deviation", cpa_deviation(sample));
	json_object_set_new(object, "values", reals_json(sample.value, sample.count));
	return object;
}

static json_t *row_json(const struct cpa_comparison *c, const struct cpa_row *row)
{
	json_t *object = json_object();

	put_text(object, "measure", cpa_measure_name(row->measure));
	put_text(object, "kind", row->kind);
	put_text(object, "name", row->name);
	json_object_set_new(object, "base", values_json(c, row, CPA_BASE));
	if (!c->side[CPA_NEW].runs)
		return object;
	json_object_set_new(object, "new", values_json(c, row, CPA_NEW));
	put_number(object, "change", row->change);
	json_object_set_new(object, "change_interval", interval_json(cpa_row_growth(c, row)));
	json_object_set_new(object, "difference_interval_s", interval_json(row->difference));
	put_number(object, "p", row->p);
	put_number(object, "p_holm", row->p_holm);
	put_text(object, "verdict", cpa_change_word(row));
	return object;
}

static json_t *side_json(const struct cpa_side *side)
{
	json_t *object = json_object(), *files = json_array();

	for (size_t i = 0; i < side->runs; i++)
		json_array_append_new(files, json_string(side->file[i]));
	put_count(object, "runs", side->runs);
	put_count(object, "blank_runs", side->blank);
	json_object_set_new(object, "files", files);
	return object;
}

static json_t *rules_json(const struct cpa_judgements *rules)
{
	json_t *array = json_array();

	for (size_t i = 0; i < rules->count; i++) {
		const struct cpa_judgement *judgement = &rules->judgement[i];
		json_t *object = json_object();

		put_text(object, "rule", judgement->rule->text);
		put_text(object, "kind", judgement->row->kind);
		put_text(object, "name", judgement->row->name);
		put_text(object, "ruling", cpa_ruling_word(judgement->ruling));
		json_object_set_new(object, "interval", interval_json(judgement->found));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *comparison_json(const struct cpa_comparison *c, const struct cpa_judgements *rules)
{
	json_t *root = json_object(), *rows = json_array(), *warnings = json_array();

	put_count(root, "schema", SCHEMA);
	put_text(root, "cpa_version", CPA_VERSION);
	json_object_set_new(root, "base", side_json(&c->side[CPA_BASE]));
	if (c->side[CPA_NEW].runs)
		json_object_set_new(root, "new", side_json(&c->side[CPA_NEW]));
	put_number(root, "least_change", c->least);
	for (size_t i = 0; i < c->rows; i++)
		json_array_append_new(rows, row_json(c, &c->row[i]));
	json_object_set_new(root, "rows", rows);
	json_object_set_new(root, "rules", rules_json(rules));
	for (size_t i = 0; i < c->warnings; i++)
		json_array_append_new(warnings, json_string(c->warning[i]));
	json_object_set_new(root, "warnings", warnings);
	return root;
}

int cpa_compare_json(const struct cpa_comparison *c, const struct cpa_judgements *rules, FILE *out)
{
	json_t *root = comparison_json(c, rules);
	int ret = json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(DIGITS));

	if (ret == 0 && fputc('\n', out) == EOF)
		ret = -1;
	json_decref(root);
	return ret;
}

int cpa_compare_html(const struct cpa_comparison *c, const struct cpa_judgements *rules, FILE *out)
{
	json_t *data = json_object();
	int ret;

	put_text(data, "version", CPA_VERSION);
	json_object_set_new(data, "comparison", comparison_json(c, rules));
	ret = cpa_html_put(data, NULL, out);
	json_decref(data);
	return ret;
}
