/* SPDX-License-Identifier: MIT */
/* analysis/render/lock_arrays_text.c - arrays of locks, as text and JSON */
#include <stdlib.h>

#include "analysis/profile/lock_arrays.h"
#include "analysis/render/json_put.h"
#include "analysis/render/sections.h"
#include "analysis/util/format.h"

static void put_array(struct cpa_table_text *table, const struct cpa_lock_array *array)
{
	struct cpa_figure waited = cpa_format_seconds(array->wait_s);
	struct cpa_figure acquired = cpa_format_count(array->acquisitions);
	struct cpa_figure contended =
		cpa_format_percent((double)array->contended, (double)array->acquisitions);
	struct cpa_figure most = cpa_format_percent(array->busiest->wait_s, array->wait_s);
	struct cpa_figure uses = cpa_format_percent((double)array->busiest->acquisitions,
						    (double)array->acquisitions);
	struct cpa_figure locks = cpa_format_count(array->locks);

	cpa_table_row(table, (const char *const[]){ waited.text, acquired.text, contended.text,
						    locks.text, array->name, most.text, uses.text,
						    array->busiest->class });
}

void cpa_text_lock_arrays(const struct cpa_page *page, const struct cpa_profile *profile,
			  size_t top)
{
	struct cpa_table_text table = { 0 };
	struct cpa_lock_arrays arrays;

	cpa_lock_arrays_init(&arrays, profile);
	if (arrays.arrays) {
		cpa_page_heading(page, "Arrays of locks, each as a whole");
		cpa_table_column(&table, "waited", false);
		cpa_table_column(&table, "acquired", false);
		cpa_table_column(&table, "contended", false);
		cpa_table_column(&table, "locks", false);
		cpa_table_column(&table, "array", true);
		cpa_table_column(&table, "waits", false);
		cpa_table_column(&table, "uses", false);
		cpa_table_column(&table, "busiest", true);
		for (size_t i = 0; i < arrays.arrays && i < top; i++)
			put_array(&table, &arrays.array[i]);
		cpa_table_end(&table, page);
		cpa_page_foot(page, arrays.arrays, top,
			      "waits, uses: share of the busiest lock in those of its array.");
	}
	cpa_lock_arrays_fini(&arrays);
}

json_t *cpa_json_lock_arrays(const struct cpa_profile *profile)
{
	json_t *list = json_array();
	struct cpa_lock_arrays arrays;

	cpa_lock_arrays_init(&arrays, profile);
	for (size_t i = 0; i < arrays.arrays; i++) {
		const struct cpa_lock_array *array = &arrays.array[i];
		json_t *object = json_object();

		put_text(object, "name", array->name);
		put_text(object, "kind", array->kind);
		put_count(object, "locks", array->locks);
		put_count(object, "acquisitions", array->acquisitions);
		put_count(object, "contended", array->contended);
		put_count(object, "handoffs", array->handoffs);
		put_real(object, "wait_s", array->wait_s);
		put_real(object, "hold_s", array->hold_s);
		put_text(object, "busiest", array->busiest->class);
		json_array_append_new(list, object);
	}
	cpa_lock_arrays_fini(&arrays);
	return list;
}
