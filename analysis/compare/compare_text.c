/* SPDX-License-Identifier: MIT */
/* analysis/compare/compare_text.c - a comparison, or the spread of one side, as text */
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "analysis/compare/compare_write.h"
#include "analysis/util/format.h"
#include "analysis/util/printable.h"

struct cell {
	char text[40];
};

static const char *const headings[CPA_MEASURES] = {
	[CPA_MEASURE_SAVES] = "What a component saves if it takes no time",
	[CPA_MEASURE_PATH] = "Its part of the critical path",
	[CPA_MEASURE_WAIT] = "Waits for locks and the like, all threads",
	[CPA_MEASURE_ITEM_WAIT] = "Mean wait of an item in a queue",
};

/* "+12.3%" */
static struct cell percent(double part)
{
	struct cell cell = { "" };

	if (isfinite(part))
		snprintf(cell.text, sizeof(cell.text), "%+.1f%%", 100 * part);
	return cell;
}

/* "-39.6 .. -25.0" */
static struct cell range(struct cpa_interval interval)
{
	struct cell cell = { "" };

	if (isfinite(interval.low) && isfinite(interval.high))
		snprintf(cell.text, sizeof(cell.text), "%+.1f .. %+.1f", 100 * interval.low,
			 100 * interval.high);
	return cell;
}

/* "583 ms"; "-": no run of the side has it. */
static struct cpa_figure mean_of(const struct cpa_comparison *c, const struct cpa_row *row,
				 enum cpa_side_name side)
{
	if (!row->present[side])
		return (struct cpa_figure){ "-" };
	return cpa_format_seconds(cpa_mean(cpa_row_sample(c, row, side)));
}

static void begin_columns(struct cpa_table_text *table, bool two, bool named)
{
	if (!named)
		cpa_table_column(table, "", true);
	cpa_table_column(table, two ? "base" : "median", false);
	cpa_table_column(table, two ? "new" : "least", false);
	cpa_table_column(table, two ? "change" : "most", false);
	cpa_table_column(table, two ? "95 % interval" : "deviation", false);
	if (two)
		cpa_table_column(table, "verdict", true);
	if (named) {
		cpa_table_column(table, "kind", true);
		cpa_table_column(table, "name", true);
	}
}

static void put_pair(struct cpa_table_text *table, const struct cpa_comparison *c,
		     const struct cpa_row *row)
{
	struct cpa_figure base = mean_of(c, row, CPA_BASE), new = mean_of(c, row, CPA_NEW);
	struct cell change = percent(row->change), interval = range(cpa_row_growth(c, row));
	const char *word = cpa_change_word(row);
	bool both = row->present[CPA_BASE] && row->present[CPA_NEW];

	if (!both)
		change.text[0] = interval.text[0] = '\0';
	if (row->kind)
		cpa_table_row(table,
			      (const char *const[]){ base.text, new.text, change.text,
						     interval.text, word, row->kind, row->name });
	else
		cpa_table_row(table, (const char *const[]){ row->name, base.text, new.text,
							    change.text, interval.text, word });
}

static void put_spread(struct cpa_table_text *table, const struct cpa_comparison *c,
		       const struct cpa_row *row)
{
	struct cpa_sample sample = cpa_row_sample(c, row, CPA_BASE);
	struct cpa_figure median = cpa_format_seconds(cpa_median(sample)), least, most;
	double low = sample.value[0], high = low;
	struct cpa_figure deviation = cpa_format_percent(cpa_deviation(sample), cpa_mean(sample));

	for (size_t i = 1; i < sample.count; i++) {
		low = fmin(low, sample.value[i]);
		high = fmax(high, sample.value[i]);
	}
	least = cpa_format_seconds(low);
	most = cpa_format_seconds(high);
	if (row->kind)
		cpa_table_row(table, (const char *const[]){ median.text, least.text, most.text,
							    deviation.text, row->kind, row->name });
	else
		cpa_table_row(table, (const char *const[]){ row->name, median.text, least.text,
							    most.text, deviation.text });
}

static void put_table(const struct cpa_comparison *c, const struct cpa_page *page,
		      enum cpa_measure measure, size_t top)
{
	struct cpa_table_text table = { 0 };
	bool two = c->side[CPA_NEW].runs > 0;
	size_t shown = 0;

	for (size_t i = 0; i < c->rows; i++) {
		const struct cpa_row *row = &c->row[i];

		if (row->measure != measure || row->verdict == CPA_CHANGE_SMALL)
			continue;
		if (++shown > top)
			continue;
		if (shown == 1) {
			if (headings[measure])
				cpa_page_heading(page, headings[measure]);
			begin_columns(&table, two, row->kind);
		}
		if (two)
			put_pair(&table, c, row);
		else
			put_spread(&table, c, row);
	}
	if (!shown)
		return;
	cpa_table_end(&table, page);
	cpa_page_foot(page, shown, top, NULL);
}

static void put_head(const struct cpa_comparison *c, const struct cpa_page *page)
{
	const json_t *program = json_object_get(c->side[CPA_BASE].run[0], "program");
	const char *given = json_string_value(json_object_get(program, "name"));
	char *name = cpa_printable(given ? given : "?", SIZE_MAX), *text;

	if (c->side[CPA_NEW].runs)
		text = cpa_format_text("%s: %zu %s, then %zu; means, changes of %g %% and more, "
				       "95 %%",
				       name, c->side[CPA_BASE].runs,
				       c->side[CPA_BASE].runs == 1 ? "run" : "runs",
				       c->side[CPA_NEW].runs, 100 * c->least);
	else
		text = cpa_format_text("%s: %zu %s", name, c->side[CPA_BASE].runs,
				       c->side[CPA_BASE].runs == 1 ? "run" : "runs");
	cpa_page_paragraph(page, CPA_STRONG, 0, text);
	free(text);
	free(name);
}

/* One line a rule, for the log of a build. */
static void put_rules(const struct cpa_judgements *rules, const struct cpa_page *page)
{
	if (rules->count)
		cpa_page_heading(page, "Limits");
	for (size_t i = 0; i < rules->count; i++) {
		const struct cpa_judgement *judgement = &rules->judgement[i];
		const struct cpa_rule *rule = judgement->rule;
		struct cell found = { "from one run" };
		char *line;

		if (rule->by == CPA_AMOUNT_RATIO && !isnan(judgement->found.low))
			snprintf(found.text, sizeof(found.text), "%+.1f .. %+.1f %%",
				 100 * judgement->found.low, 100 * judgement->found.high);
		else if (!isnan(judgement->found.low))
			snprintf(found.text, sizeof(found.text), "%.6f .. %.6f s",
				 judgement->found.low, judgement->found.high);
		line = cpa_format_text("%s: %s: %s%s%s %s", rule->text,
				       cpa_ruling_word(judgement->ruling),
				       judgement->row->kind ? judgement->row->kind : "",
				       judgement->row->kind ? " " : "", judgement->row->name,
				       found.text);
		cpa_page_paragraph(page,
				   judgement->ruling == CPA_RULE_BROKEN ? CPA_ALARM : CPA_PLAIN, 2,
				   line);
		free(line);
	}
}

void cpa_compare_text(const struct cpa_comparison *c, const struct cpa_judgements *rules,
		      const struct cpa_page *page, size_t top)
{
	put_head(c, page);
	for (unsigned measure = 0; measure < CPA_MEASURES; measure++)
		put_table(c, page, measure, top);
	put_rules(rules, page);
	for (size_t i = 0; i < c->warnings; i++) {
		char *line = cpa_format_text("Note: %s", c->warning[i]);

		if (i == 0)
			fputc('\n', page->out);
		cpa_page_paragraph(page, CPA_PLAIN, 2, line);
		free(line);
	}
}
