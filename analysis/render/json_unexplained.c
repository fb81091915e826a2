/* SPDX-License-Identifier: MIT */
/*
 * analysis/render/json_unexplained.c - what cpa did not see of the run, and who used the
 * processors, as JSON
 */
#include "analysis/verdict/unexplained.h"
#include "analysis/render/json_put.h"

static json_t *unexplained_json(const struct cpa_profile *profile)
{
	json_t *array = json_array();
	struct cpa_unexplained unexplained;

	cpa_unexplained_init(&unexplained, profile);
	for (size_t i = 0; i < unexplained.rows; i++) {
		const struct cpa_unexplained_row *row = &unexplained.row[i];
		json_t *object = json_object();

		put_text(object, "what", row->what);
		put_text(object, "by", row->by);
		put_text(object, "library", row->library);
		put_count(object, "count", row->count);
		put_real(object, "total_s", row->total_s);
		json_array_append_new(array, object);
	}
	cpa_unexplained_fini(&unexplained);
	return array;
}

static json_t *processors_json(const struct cpa_processors_figures *processors)
{
	json_t *object = json_object();
	bool known = processors->all_s > 0;

	put_known(object, "all_s", known, processors->all_s);
	put_known(object, "others_s", known, processors->others_s);
	put_known(object, "stolen_s", known, processors->stolen_s);
	return object;
}

void cpa_json_put_unexplained(json_t *diagnostics, const struct cpa_profile *profile)
{
	json_object_set_new(diagnostics, "unexplained", unexplained_json(profile));
	json_object_set_new(diagnostics, "processors",
			    processors_json(&profile->diagnostics.processors));
}
