/* SPDX-License-Identifier: MIT */
/* analysis/predict/predict_write.c - predictions as text and as JSON */
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/util/format.h"
#include "analysis/symbols/names.h"
#include "analysis/predict/predict.h"

#define OFF 0.03 /* of the run time: a larger error of the check is explained */

/* "+12.3%": the change from @before to @after; "-" if @before is 0. The caller frees it. */
static char *change(double before, double after)
{
	return before > 0 ? cpa_format_text("%+.1f%%", 100 * (after / before - 1)) : xstrdup("-");
}

static void put_check(const struct cpa_answer *answer, const struct cpa_profile *profile,
		      const struct cpa_page *page)
{
	char *off = change(answer->recorded_s, answer->replayed_s), *longer;
	char *text = cpa_format_text(
		"%s: recorded %s on %u core%s; replayed with nothing changed %s (%s)",
		profile->program.name, cpa_format_seconds(answer->recorded_s).text,
		profile->program.cores, profile->program.cores == 1 ? "" : "s",
		cpa_format_seconds(answer->replayed_s).text, off);

	cpa_page_paragraph(page, CPA_STRONG, 2, text);
	free(text);
	if (answer->waits)
		text = cpa_format_text(
			"A blocked thread runs again %s after its release (the median of %s waits "
			"that ended while a core was free). ",
			cpa_format_seconds(answer->latency_s).text,
			cpa_format_count(answer->waits).text);
	else
		text = xstrdup("A blocked thread runs again at once after its release, because the "
			       "recording has no wait that ended while a core was free. ");
	longer = cpa_format_text(
		"%sBoth times include %s of the profiler's own time; the predictions below do not.",
		text, cpa_format_seconds(answer->probe_s).text);
	free(text);
	text = longer;
	cpa_page_paragraph(page, CPA_PLAIN, 0, text);
	free(off);
	free(text);
}

/*
 * Explain a run that waited longer for processors than its replay, perhaps because of other
 * programs.
 */
static void put_order(const struct cpa_answer *answer, const struct cpa_page *page)
{
	char *off, *text;

	if (fabs(answer->replayed_s - answer->recorded_s) < OFF * answer->recorded_s)
		return;
	off = change(answer->recorded_s, answer->reordered_s);
	text = cpa_format_text(
		"The replay shares the cores fairly, and among this program's threads only. With "
		"the recorded waiting for cores instead (%s in all threads) it takes %s (%s).",
		cpa_format_seconds(answer->runqueue_s).text,
		cpa_format_seconds(answer->reordered_s).text, off);
	cpa_page_paragraph(page, CPA_PLAIN, 0, text);
	free(off);
	free(text);
}

static void put_row(struct cpa_table_text *table, const struct cpa_answer *answer,
		    const struct cpa_answer_row *row, double base_s)
{
	char *cores = cpa_format_text("%u", row->cores);
	struct cpa_figure before = cpa_format_seconds(row->unchanged_s);
	struct cpa_figure after = cpa_format_seconds(row->changed_s);
	struct cpa_figure used = cpa_format_percent(row->utilization, 1);
	char *off = change(answer->changed ? row->unchanged_s : base_s, row->changed_s);
	const char *changed[] = { cores, before.text, after.text, off, used.text };
	const char *same[] = { cores, before.text, off, used.text };

	cpa_table_row(table, answer->changed ? changed : same);
	free(cores);
	free(off);
}

static void put_curves(const struct cpa_answer *answer, const struct cpa_page *page)
{
	static const char *const heads[CPA_CURVE_POINTS] = { "at 3/4", "1/2", "1/4", "0" };
	struct cpa_table_text table = { 0 };

	cpa_page_heading(page, "Run time if one component took less");
	for (unsigned i = 0; i < CPA_CURVE_POINTS; i++)
		cpa_table_column(&table, heads[i], false);
	cpa_table_column(&table, "kind", true);
	cpa_table_column(&table, "component", true);
	for (size_t i = 0; i < answer->curves; i++) {
		const struct cpa_curve *curve = &answer->curve[i];
		struct cpa_figure at[CPA_CURVE_POINTS];
		const char *cells[CPA_CURVE_POINTS + 2];

		for (unsigned k = 0; k < CPA_CURVE_POINTS; k++) {
			at[k] = cpa_format_seconds(curve->run_s[k]);
			cells[k] = at[k].text;
		}
		cells[CPA_CURVE_POINTS] = cpa_names_component_kind(curve->kind);
		cells[CPA_CURVE_POINTS + 1] = curve->name;
		cpa_table_row(&table, cells);
	}
	cpa_table_end(&table, page);
}

static void put_next(const struct cpa_answer *answer, const struct cpa_page *page)
{
	double before_s = answer->row[0].changed_s;

	if (answer->next)
		cpa_page_heading(page, "What to make cheaper, one after the other");
	for (size_t i = 0; i < answer->next; i++) {
		const struct cpa_curve *curve = &answer->curve[answer->next_curve[i]];
		char *off = change(before_s, answer->next_s[i]);
		char *text = cpa_format_text("%zu. without %s %s %s (%s)", i + 1,
					     cpa_names_component_kind(curve->kind), curve->name,
					     cpa_format_seconds(answer->next_s[i]).text, off);

		cpa_page_paragraph(page, CPA_PLAIN, 3, text);
		before_s = answer->next_s[i];
		free(off);
		free(text);
	}
}

/*
 * The path does not depend on what else the machine does, as the replay with its recorded waits
 * does.
 */
static void put_path(const struct cpa_answer *answer, const struct cpa_page *page)
{
	char *off, *text;

	if (answer->path_s <= 0)
		return;
	off = change(answer->path_s, answer->divided_path_s);
	text = cpa_format_text("critical path: %s as it is, %s with the work divided so (%s)",
			       cpa_format_seconds(answer->path_s).text,
			       cpa_format_seconds(answer->divided_path_s).text, off);
	cpa_page_paragraph(page, CPA_PLAIN, 0, text);
	free(off);
	free(text);
}

void cpa_answer_text(const struct cpa_answer *answer, const struct cpa_profile *profile,
		     const struct cpa_page *page)
{
	struct cpa_table_text table = { 0 };

	put_check(answer, profile, page);
	put_order(answer, page);
	cpa_page_heading(page, "Predicted run time, without the profiler");
	cpa_table_column(&table, "cores", false);
	cpa_table_column(&table, "as it is", false);
	if (answer->changed)
		cpa_table_column(&table, "changed", false);
	cpa_table_column(&table, "difference", false);
	cpa_table_column(&table, "utilization", false);
	for (size_t i = 0; i < answer->rows; i++)
		put_row(&table, answer, &answer->row[i], answer->row[0].unchanged_s);
	cpa_table_end(&table, page);
	put_path(answer, page);
	if (answer->curves)
		put_curves(answer, page);
	put_next(answer, page);
	if (answer->notes)
		cpa_page_heading(page, "Limits of this prediction");
	for (size_t i = 0; i < answer->notes; i++)
		cpa_page_paragraph(page, CPA_PLAIN, 0, answer->note[i]);
}

/* Rounded to 1e-9. */
static void put_real(json_t *object, const char *key, double value)
{
	json_object_set_new(object, key, json_real(round(value * 1e9) / 1e9));
}

static json_t *curve_json(const struct cpa_curve *curve)
{
	json_t *object = json_object(), *points = json_array();

	json_object_set_new(object, "kind", json_string(cpa_names_component_kind(curve->kind)));
	json_object_set_new(object, "name", json_string(curve->name));
	for (unsigned i = 0; i < CPA_CURVE_POINTS; i++) {
		json_t *point = json_object();

		put_real(point, "factor", (double)(CPA_CURVE_POINTS - 1 - i) / CPA_CURVE_POINTS);
		put_real(point, "run_s", curve->run_s[i]);
		json_array_append_new(points, point);
	}
	json_object_set_new(object, "points", points);
	return object;
}

static json_t *next_json(const struct cpa_answer *answer, size_t which)
{
	const struct cpa_curve *curve = &answer->curve[answer->next_curve[which]];
	json_t *object = json_object();

	json_object_set_new(object, "kind", json_string(cpa_names_component_kind(curve->kind)));
	json_object_set_new(object, "name", json_string(curve->name));
	put_real(object, "run_s", answer->next_s[which]);
	return object;
}

json_t *cpa_answer_json(const struct cpa_answer *answer)
{
	json_t *object = json_object(), *rows = json_array(), *notes = json_array();

	put_real(object, "recorded_s", answer->recorded_s);
	put_real(object, "replayed_s", answer->replayed_s);
	put_real(object, "reordered_s", answer->reordered_s);
	put_real(object, "runqueue_s", answer->runqueue_s);
	put_real(object, "start_s", answer->start_s);
	put_real(object, "probe_s", answer->probe_s);
	put_real(object, "latency_s", answer->latency_s);
	json_object_set_new(object, "waits", json_integer((json_int_t)answer->waits));
	if (answer->path_s > 0) {
		put_real(object, "critical_path_s", answer->path_s);
		put_real(object, "divided_critical_path_s", answer->divided_path_s);
	}
	for (size_t i = 0; i < answer->rows; i++) {
		json_t *row = json_object();

		json_object_set_new(row, "cores", json_integer(answer->row[i].cores));
		put_real(row, "unchanged_s", answer->row[i].unchanged_s);
		put_real(row, "changed_s", answer->row[i].changed_s);
		put_real(row, "utilization", answer->row[i].utilization);
		json_array_append_new(rows, row);
	}
	json_object_set_new(object, "predictions", rows);
	if (answer->curves) {
		json_t *curves = json_array(), *next = json_array();

		for (size_t i = 0; i < answer->curves; i++)
			json_array_append_new(curves, curve_json(&answer->curve[i]));
		for (size_t i = 0; i < answer->next; i++)
			json_array_append_new(next, next_json(answer, i));
		json_object_set_new(object, "curves", curves);
		json_object_set_new(object, "next", next);
	}
	for (size_t i = 0; i < answer->notes; i++)
		json_array_append_new(notes, json_string(answer->note[i]));
	json_object_set_new(object, "notes", notes);
	return object;
}
