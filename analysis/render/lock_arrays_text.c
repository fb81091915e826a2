/* SPDX-License-Identifier: MIT */
/* analysis/render/lock_arrays_text.c - arrays of locks, as text and JSON */
#include <stdlib.h>

#include "analysis/profile/lock_arrays.h"
#include "analysis/profile/objects.h"
#include "analysis/render/json_put.h"
#include "analysis/render/parts_text.h"
#include "analysis/render/sections.h"
#include "analysis/util/format.h"

static void put_array(struct cpa_table_text *table, const struct cpa_lock_array *array,
		      bool has_margins)
{
	struct cpa_figure waited = cpa_format_seconds(array->wait_s);
	struct cpa_figure acquired = cpa_format_count(array->acquisitions);
	struct cpa_figure contended =
		cpa_format_percent((double)array->contended, (double)array->acquisitions);
	struct cpa_figure most = cpa_format_percent(array->busiest->wait_s, array->wait_s);
	struct cpa_figure uses = cpa_format_percent((double)array->busiest->acquisitions,
						    (double)array->acquisitions);
	struct cpa_figure locks = cpa_format_count(array->locks);
	struct cpa_figure margin = cpa_text_margin(array->wait_margin_s, cpa_format_seconds);
	const char *cells[CPA_TABLE_COLUMNS];
	size_t count = 0;

	cells[count++] = waited.text;
	if (has_margins)
		cells[count++] = margin.text;
	cells[count++] = acquired.text;
	cells[count++] = contended.text;
	cells[count++] = locks.text;
	cells[count++] = array->name;
	cells[count++] = most.text;
	cells[count++] = uses.text;
	cells[count++] = array->busiest->class;
	cpa_table_row(table, cells);
}

void cpa_text_lock_arrays(const struct cpa_page *page, const struct cpa_profile *profile,
			  size_t top)
{
	const struct cpa_lock_arrays *arrays = profile->lock_arrays;
	bool has_margins = profile->program.batches;
	struct cpa_table_text table = { 0 };

	if (!arrays || !arrays->arrays)
		return;
	cpa_page_heading(page, "Arrays of locks, each as a whole");
	cpa_table_column(&table, "waited", false);
	if (has_margins)
		cpa_table_column(&table, "+-", false);
	cpa_table_column(&table, "acquired", false);
	cpa_table_column(&table, "contended", false);
	cpa_table_column(&table, "locks", false);
	cpa_table_column(&table, "array", true);
	cpa_table_column(&table, "waits", false);
	cpa_table_column(&table, "uses", false);
	cpa_table_column(&table, "busiest", true);
	for (size_t i = 0; i < arrays->arrays && i < top; i++)
		put_array(&table, &arrays->array[i], has_margins);
	cpa_table_end(&table, page);
	cpa_page_foot(page, arrays->arrays, top,
		      "waits, uses: share of the busiest lock in those of its array.");
}

json_t *cpa_json_lock_arrays(const struct cpa_profile *profile)
{
	const struct cpa_lock_arrays *arrays = profile->lock_arrays;
	json_t *list = json_array();

	for (size_t i = 0; arrays && i < arrays->arrays; i++) {
		const struct cpa_lock_array *array = &arrays->array[i];
		json_t *object = json_object();

		put_text(object, "name", array->name);
		put_text(object, "kind", array->kind);
		put_count(object, "locks", array->locks);
		put_count(object, "acquisitions", array->acquisitions);
		put_count(object, "contended", array->contended);
		put_count(object, "handoffs", array->handoffs);
		put_real(object, "wait_s", array->wait_s);
		put_real(object, "hold_s", array->hold_s);
		put_margin(object, "wait_margin_s", array->wait_margin_s);
		put_margin(object, "hold_margin_s", array->hold_margin_s);
		put_text(object, "busiest", array->busiest->class);
		json_array_append_new(list, object);
	}
	return list;
}
