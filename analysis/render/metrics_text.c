/* SPDX-License-Identifier: MIT */
/* analysis/render/metrics_text.c - metrics by level and over time, as text */
#include "analysis/render/metrics_text.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/util/format.h"
#include "analysis/util/printable.h"

#define LINE 32u /* largest width of a histogram, characters */

static struct cpa_figure format_rate(double rate)
{
	if (rate == 0)
		return (struct cpa_figure){ "0" };
	return rate < 99.95 ? cpa_format_ratio(rate) :
			      cpa_format_count((uint64_t)fmin(rate + 0.5, 1e18));
}

struct cpa_figure cpa_format_metric(enum cpa_metric metric, double value)
{
	if (isnan(value))
		return (struct cpa_figure){ "-" };
	switch (cpa_metric_about(metric)->unit) {
	case CPA_IN_SECONDS:
		return cpa_format_seconds(value);
	case CPA_IN_NUMBERS:
		return cpa_format_count((uint64_t)fmin(value, 1e18));
	default:
		return format_rate(value);
	}
}

static void put_program(const struct cpa_page *page, const struct cpa_metric_row *row)
{
	struct cpa_table_text table = { 0 };

	cpa_page_heading(page, "Metrics of the program");
	cpa_table_column(&table, "metric", true);
	cpa_table_column(&table, "value", false);
	cpa_table_column(&table, "is", true);
	for (unsigned i = 0; i < CPA_METRICS; i++) {
		const struct cpa_metric_about *about = cpa_metric_about(i);
		struct cpa_figure figure = cpa_format_metric(i, row->value[i]);

		if (about->at[CPA_AT_PROGRAM])
			cpa_table_row(&table, (const char *const[]){ about->symbol, figure.text,
								     about->meaning });
	}
	cpa_table_end(&table, page);
	cpa_page_foot(
		page, 0, 0,
		"Figures are sums over the threads, except T and the figures divided by T. -: not "
		"measured. Definitions and sources: man cpa-metrics.");
}

static bool has_id(enum cpa_metric_level level)
{
	return level == CPA_AT_PROCESS || level == CPA_AT_THREAD;
}

static bool any_where(const struct cpa_metrics *m, enum cpa_metric_level level)
{
	for (size_t i = 0; i < m->rows[level]; i++)
		if (m->row[level][i].where)
			return true;
	return false;
}

static void put_row(struct cpa_table_text *table, const struct cpa_metric_row *row,
		    enum cpa_metric_level level, const enum cpa_metric *list, size_t count)
{
	struct cpa_figure figure[CPA_TABLE_COLUMNS];
	const char *cell[CPA_TABLE_COLUMNS + 1];
	size_t cells = 0;
	char id[16];

	snprintf(id, sizeof(id), "%u", row->id);
	if (has_id(level))
		cell[cells++] = id;
	for (size_t c = 0; c < count; c++) {
		if (!cpa_metric_about(list[c])->at[level])
			continue;
		figure[cells] = cpa_format_metric(list[c], row->value[list[c]]);
		cell[cells] = figure[cells].text;
		cells++;
	}
	cell[cells++] = level == CPA_AT_PROCESS ? cpa_printable_base(row->name) : row->name;
	cell[cells] = cpa_printable_where(row->name, row->where);
	cpa_table_row(table, cell);
}

/* Write the metrics of @list that are defined at @level. */
static void put_table(const struct cpa_page *page, const struct cpa_metrics *m,
		      enum cpa_metric_level level, const enum cpa_metric *list, size_t count,
		      size_t top)
{
	struct cpa_table_text table = { 0 };

	if (has_id(level))
		cpa_table_column(&table, "id", false);
	for (size_t c = 0; c < count; c++)
		if (cpa_metric_about(list[c])->at[level])
			cpa_table_column(&table, cpa_metric_about(list[c])->symbol, false);
	cpa_table_column(&table, cpa_metric_level_name(level), true);
	if (any_where(m, level))
		cpa_table_column(&table, level == CPA_AT_THREAD ? "name" : "where", true);
	for (size_t i = 0; i < m->rows[level] && i < top; i++)
		put_row(&table, &m->row[level][i], level, list, count);
	cpa_table_end(&table, page);
}

static void put_level(const struct cpa_page *page, const struct cpa_metrics *m,
		      enum cpa_metric_level level, size_t top)
{
	static const enum cpa_metric times[] = {
		CPA_METRIC_TIME,     CPA_METRIC_CPU,	  CPA_METRIC_WAIT,
		CPA_METRIC_WAIT_CPU, CPA_METRIC_EXTERNAL, CPA_METRIC_PROBE,
	};
	static const enum cpa_metric ratios[] = {
		CPA_METRIC_THREADS,	CPA_METRIC_RESPONSE, CPA_METRIC_LOAD,
		CPA_METRIC_PARALLELISM, CPA_METRIC_PROGRESS, CPA_METRIC_UTILIZATION,
		CPA_METRIC_OPERATIONS,	CPA_METRIC_BYTES,    CPA_METRIC_CALLS,
	};
	static const enum cpa_metric few[] = {
		CPA_METRIC_CPU,	       CPA_METRIC_WAIT,	 CPA_METRIC_TIME,
		CPA_METRIC_OPERATIONS, CPA_METRIC_CALLS,
	};
	static const char *const heading[CPA_METRIC_LEVELS] = {
		[CPA_AT_MACHINE] = "Metrics by machine",
		[CPA_AT_PROCESS] = "Metrics by process",
		[CPA_AT_THREAD] = "Metrics by thread",
		[CPA_AT_PROCEDURE] = "Metrics by procedure",
		[CPA_AT_EVENT] = "Metrics by event",
	};
	static const char *const foot[CPA_METRIC_LEVELS] = {
		[CPA_AT_PROCEDURE] = "M_m: synchronization events called from the procedure.",
		[CPA_AT_EVENT] =
			"T, T_wait: work and blocked time, waiting that ended with the event.",
	};

	if (m->rows[level] == 0)
		return;
	cpa_page_heading(page, heading[level]);
	if (level >= CPA_AT_PROCEDURE) {
		put_table(page, m, level, few, ARRAY_SIZE(few), top);
	} else {
		put_table(page, m, level, times, ARRAY_SIZE(times), top);
		fputc('\n', page->out);
		put_table(page, m, level, ratios, ARRAY_SIZE(ratios), top);
	}
	cpa_page_foot(page, m->rows[level], top, foot[level]);
}

void cpa_text_metrics(const struct cpa_page *page, const struct cpa_metrics *m,
		      enum cpa_metric_level level, size_t top)
{
	bool all = level == CPA_METRIC_LEVELS;

	if (all || level == CPA_AT_PROGRAM)
		put_program(page, &m->row[CPA_AT_PROGRAM][0]);
	for (unsigned i = CPA_AT_MACHINE; i < CPA_METRIC_LEVELS; i++)
		if (all || i == level)
			put_level(page, m, i, top);
}

/* The mean of the known values among @count; NAN if none is known. */
static double mean(const double *value, size_t count)
{
	double sum = 0;
	size_t known = 0;

	for (size_t i = 0; i < count; i++) {
		if (isnan(value[i]))
			continue;
		sum += value[i];
		known++;
	}
	return known ? sum / (double)known : NAN;
}

static char *draw(const struct cpa_page *page, const double *value, size_t bins, size_t each,
		  double most)
{
	static const char *const bars[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const plain[] = { " ", "_", ".", ":", "-", "=", "+", "*", "#" };
	char *text = xstrdup("");

	for (size_t i = 0; i < bins; i += each) {
		double height = mean(value + i, i + each < bins ? each : bins - i) / most;
		size_t step = height > 0 ? (size_t)ceil(fmin(height, 1) * 8 - 0.05) : 0;
		char *longer =
			cpa_format_text("%s%s", text, page->unicode ? bars[step] : plain[step]);

		free(text);
		text = longer;
	}
	return text;
}

/*
 * Whether the metric is a time. Over an interval it is shown as seconds per second, which may
 * exceed 1 for several threads.
 */
static bool is_share(enum cpa_metric metric)
{
	return cpa_metric_about(metric)->unit == CPA_IN_SECONDS;
}

void cpa_text_histogram(const struct cpa_page *page, const struct cpa_histogram *h, size_t top)
{
	const struct cpa_metric_about *about = cpa_metric_about(h->metric);
	size_t each = (h->bins + LINE - 1) / LINE, rows = h->rows < top ? h->rows : top;
	struct cpa_table_text table = { 0 };
	double most = 0, *value = xcalloc(h->rows * h->bins + 1, sizeof(*value));
	bool parts = false;
	char *text;

	for (size_t i = 0; i < h->rows * h->bins; i++) {
		size_t k = i % h->bins;
		double length = h->until_s[k] - (k ? h->until_s[k - 1] : 0);

		parts = parts || length <= 0;
		value[i] = is_share(h->metric) ? h->value[i] / (length > 0 ? length : NAN) :
						 h->value[i];
		most = value[i] > most ? value[i] : most;
	}
	text = cpa_format_text("%s over time, by %s: %s", about->symbol,
			       cpa_metric_level_name(h->level), about->meaning);
	cpa_page_heading(page, text);
	free(text);
	cpa_table_column(&table, "start to end", true);
	cpa_table_column(&table, "most", false);
	cpa_table_column(&table, cpa_metric_level_name(h->level), true);
	for (size_t i = 0; i < rows && h->bins; i++) {
		const double *line = value + i * h->bins;
		double largest = 0;
		struct cpa_figure figure;

		for (size_t k = 0; k < h->bins; k++)
			largest = line[k] > largest ? line[k] : largest;
		figure = format_rate(largest);
		text = draw(page, line, h->bins, each, most > 0 ? most : 1);
		cpa_table_row(&table, (const char *const[]){ text, figure.text,
							     cpa_printable_base(h->row[i]->name) });
		free(text);
	}
	cpa_table_end(&table, page);
	text = h->bins ?
		       cpa_format_text("Each character is the mean over %s%s; %s is %s%s.",
				       cpa_format_seconds(h->period_s * (double)each).text,
				       parts ? " of the run, blank if none of it was profiled" : "",
				       page->unicode ? "█" : "#", format_rate(most).text,
				       is_share(h->metric) ? " seconds a second" : "") :
		       xstrdup("The run was too short for samples.");
	cpa_page_foot(page, h->rows, top, text);
	free(text);
	free(value);
}
