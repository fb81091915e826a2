/* SPDX-License-Identifier: MIT */
#include "analysis/render/phases_text.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/util/format.h"
#include "analysis/render/metrics_text.h"
#include "analysis/symbols/names.h"
#include "analysis/profile/components.h"

#define LABEL  15 /* columns of a label, as in the heading of the report */
#define LISTED 5u /* phases on the first screen */

void cpa_text_phase_line(const struct cpa_page *page, const struct cpa_phases *p)
{
	char *text, *longer;

	if (!p || p->found == 0)
		return;
	text = cpa_format_text("%-*s%8zu  parallelism", LABEL, "phases", p->found);
	for (size_t i = 0; i < p->found && i < LISTED; i++) {
		const double *value = p->phase[i].value;

		longer = cpa_format_text("%s%s %s to %s", text, i ? "," : "",
					 cpa_format_metric(CPA_METRIC_PARALLELISM,
							   value[CPA_METRIC_PARALLELISM])
						 .text,
					 cpa_format_seconds(p->phase[i].to_s).text);
		free(text);
		text = longer;
	}
	longer = cpa_format_text("%s%s (--phases)", text, p->found > LISTED ? ", ..." : "");
	cpa_page_paragraph(page, CPA_PLAIN, LABEL, longer);
	free(longer);
	free(text);
}

/* As cpa_format_seconds(), but also of negative values. */
static struct cpa_figure format_change(double seconds)
{
	struct cpa_figure figure = cpa_format_seconds(fabs(seconds)), minus;

	if (seconds > -5e-7)
		return figure;
	minus.text[0] = '-';
	for (size_t i = 0; i + 1 < sizeof(minus.text); i++)
		minus.text[i + 1] = figure.text[i];
	return minus;
}

static void put_overview(const struct cpa_page *page, const struct cpa_phases *p)
{
	static const enum cpa_metric metrics[] = {
		CPA_METRIC_PARALLELISM, CPA_METRIC_CPU,	     CPA_METRIC_WAIT,
		CPA_METRIC_EXTERNAL,	CPA_METRIC_WAIT_CPU,
	};
	struct cpa_table_text table = { 0 };

	cpa_table_column(&table, "from", false);
	cpa_table_column(&table, "to", false);
	cpa_table_column(&table, "path", false);
	for (size_t m = 0; m < ARRAY_SIZE(metrics); m++)
		cpa_table_column(&table, cpa_metric_about(metrics[m])->symbol, false);
	cpa_table_column(&table, "phase", true);
	for (size_t i = 0; i < p->count; i++) {
		const struct cpa_phase *phase = &p->phase[i];
		struct cpa_figure from = cpa_format_seconds(phase->from_s);
		struct cpa_figure to = cpa_format_seconds(phase->to_s);
		struct cpa_figure path = cpa_format_seconds(phase->path_s);
		struct cpa_figure figure[ARRAY_SIZE(metrics)];
		const char *cell[CPA_TABLE_COLUMNS] = { from.text, to.text,
							phase->sampled ? path.text : "-" };

		for (size_t m = 0; m < ARRAY_SIZE(metrics); m++) {
			figure[m] = cpa_format_metric(metrics[m], phase->value[metrics[m]]);
			cell[3 + m] = figure[m].text;
		}
		cell[3 + ARRAY_SIZE(metrics)] = phase->name;
		cpa_table_row(&table, cell);
	}
	cpa_table_end(&table, page);
}

static void put_method(const struct cpa_page *page, const struct cpa_phases *p)
{
	char *text;

	if (p->step == 0) {
		text = xstrdup("The run was too short to find phases: it has too few samples.");
	} else {
		text = cpa_format_text(
			"The program was sampled every %s; borders are exact to one or two "
			"samples. A phase begins where %zu metrics, each smoothed over %zu "
			"samples, change together by as much as a step of %.2f of one metric's "
			"range (%s; --phase-threshold). Figures of marked and given phases run "
			"from the nearest sample to the nearest; - means that both are the same "
			"sample.",
			cpa_format_seconds(p->interval_s).text, p->curves - p->left_out, p->window,
			p->step, p->step_given ? "given" : "chosen");
	}
	cpa_page_foot(page, 0, 0, text);
	free(text);
}

static void put_path(const struct cpa_page *page, const struct cpa_profile *profile,
		     const struct cpa_phase *phase, size_t top)
{
	struct cpa_table_text table = { 0 };
	char *text = cpa_format_text("%s, %s to %s: components of its critical path of %s",
				     phase->name, cpa_format_seconds(phase->sampled_from_s).text,
				     cpa_format_seconds(phase->sampled_to_s).text,
				     cpa_format_seconds(phase->path_s).text);

	cpa_page_heading(page, text);
	free(text);
	cpa_table_column(&table, "saves", false);
	cpa_table_column(&table, "path", false);
	cpa_table_column(&table, "CPU", false);
	cpa_table_column(&table, "kind", true);
	cpa_table_column(&table, "component", true);
	for (size_t i = 0; i < phase->shares && i < top; i++) {
		const struct cpa_phase_share *share = &phase->share[i];
		const struct cpa_component_figures *component =
			&profile->component[share->component];
		struct cpa_figure saves = format_change(share->saved_s);
		struct cpa_figure path = cpa_format_percent(share->path_s, phase->path_s);
		struct cpa_figure cpu =
			cpa_format_percent(share->total_s, phase->value[CPA_METRIC_CPU]);

		cpa_table_row(&table,
			      (const char *const[]){
				      saves.text, phase->path_changed ? "?" : path.text,
				      component->kind == CPA_EXTERNAL ? "-" : cpu.text,
				      cpa_names_component_kind(component->kind), component->name });
	}
	cpa_table_end(&table, page);
	cpa_page_foot(
		page, phase->shares, top,
		phase->path_changed ?
			"?: another path became the longest in this phase, so shares of the path "
			"cannot be given. Savings are right." :
			NULL);
}

void cpa_text_phases(const struct cpa_page *page, const struct cpa_profile *profile,
		     const struct cpa_phases *p, size_t top)
{
	cpa_page_heading(page, p->found ? "Phases" : "Phases: none was found automatically");
	if (p->count)
		put_overview(page, p);
	put_method(page, p);
	for (size_t i = 0; i < p->count; i++)
		if (p->phase[i].sampled)
			put_path(page, profile, &p->phase[i], top);
}
