/* SPDX-License-Identifier: MIT */
/* analysis/top/top_rows.c - the rows of a view, their order, and their cells */
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/render/parts_text.h"
#include "analysis/util/format.h"
#include "analysis/top/top_views.h"

/* A row and its sort key. */
struct entry {
	size_t row;
	double value;
	char *text; /* NULL: sort by value */
};

static char *format_change(double seconds)
{
	if (fabs(seconds) < 5e-10)
		return xstrdup("0 s");
	return cpa_format_text("%c%s", seconds < 0 ? '-' : '+',
			       cpa_format_seconds(fabs(seconds)).text);
}

/* A damaged file may hold any number. */
static char *format_count(double count)
{
	return xstrdup(cpa_format_count(count < 1e19 ? (uint64_t)count : UINT64_MAX).text);
}

char *cpa_top_cell(const struct cpa_top *top, const struct cpa_top_column *column, size_t row)
{
	double value;

	if (column->unit == CPA_UNIT_TEXT)
		return column->text(top, row);
	value = column->value(top, row);
	if (isnan(value))
		return xstrdup("-");
	switch (column->unit) {
	case CPA_UNIT_SECONDS:
		return xstrdup(cpa_format_seconds(value).text);
	case CPA_UNIT_CHANGE:
		return format_change(value);
	case CPA_UNIT_SHARE:
		return xstrdup(cpa_format_percent(value, 1).text);
	case CPA_UNIT_RATE:
		if (value < 1000)
			return xstrdup(cpa_format_ratio(value).text);
		return format_count(value);
	case CPA_UNIT_ID:
		return cpa_format_text("%.0f", value);
	default:
		return format_count(value);
	}
}

bool cpa_top_has_margin(const struct cpa_top *top, const struct cpa_top_column *column)
{
	return column->margin && top->now.profile->program.batches;
}

char *cpa_top_margin(const struct cpa_top *top, const struct cpa_top_column *column, size_t row)
{
	double margin = column->margin(top, row);

	return xstrdup(column->unit == CPA_UNIT_SHARE ?
			       cpa_text_margin_percent(margin, 1).text :
			       cpa_text_margin(margin, cpa_format_seconds).text);
}

static bool passes(const struct cpa_top *top, const struct cpa_top_table *table, size_t row)
{
	bool found = !top->filter[0];

	if (table->shown && !table->shown(top->now.profile, row))
		return false;
	for (size_t c = 0; c < table->columns && !found; c++) {
		char *text;

		if (table->column[c].unit != CPA_UNIT_TEXT)
			continue;
		text = table->column[c].text(top, row);
		found = strcasestr(text, top->filter);
		free(text);
	}
	return found;
}

/* Figures: largest first; names: alphabetical; unknown values last; ties keep their order. */
static int compare_entries(const void *a, const void *b, void *argument)
{
	const struct cpa_top_order *order = argument;
	const struct entry *x = a, *y = b;
	int result = 0;

	if (!x->text && isnan(x->value) != isnan(y->value))
		return isnan(x->value) ? 1 : -1;
	if (x->text)
		result = strcasecmp(x->text, y->text);
	else if (x->value < y->value || x->value > y->value)
		result = x->value > y->value ? -1 : 1;
	if (result)
		return order->reversed ? -result : result;
	return x->row < y->row ? -1 : 1;
}

size_t *cpa_top_rows(const struct cpa_top *top, size_t *count)
{
	const struct cpa_top_table *table = cpa_top_table(top->view);
	struct cpa_top_order order = top->order[top->view];
	const struct cpa_top_column *by = &table->column[order.column];
	size_t most = table->count(top->now.profile);
	struct entry *entries = xcalloc(most + 1, sizeof(*entries));
	size_t *rows = xcalloc(most + 1, sizeof(*rows));

	*count = 0;
	for (size_t row = 0; row < most; row++) {
		struct entry *entry = &entries[*count];

		if (!passes(top, table, row))
			continue;
		entry->row = row;
		if (by->unit == CPA_UNIT_TEXT)
			entry->text = by->text(top, row);
		else
			entry->value = by->value(top, row);
		++*count;
	}
	qsort_r(entries, *count, sizeof(*entries), compare_entries, &order);
	for (size_t i = 0; i < *count; i++) {
		rows[i] = entries[i].row;
		free(entries[i].text);
	}
	free(entries);
	return rows;
}
