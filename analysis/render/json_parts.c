/* SPDX-License-Identifier: MIT */
/*
 * analysis/render/json_parts.c - the profiled parts of the run, and how sure the figures are, as
 * JSON
 */
#include <stdlib.h>

#include "analysis/render/json_put.h"
#include "analysis/verdict/rivals.h"
#include "analysis/profile/parts.h"

json_t *cpa_json_parts(const struct cpa_profile *profile)
{
	json_t *array = json_array();

	for (size_t i = 0; i < profile->parts; i++) {
		json_t *object = json_object();

		put_real(object, "from_s", profile->part[i].from_s);
		put_real(object, "to_s", profile->part[i].to_s);
		json_array_append_new(array, object);
	}
	return array;
}

json_t *cpa_json_windows(const struct cpa_profile *profile)
{
	const struct cpa_program_figures *program = &profile->program;
	char *rivals = cpa_rivals_sentence(profile), *sample = cpa_sample_sentence(program);
	char *uneven = cpa_uneven_sentence(profile);
	json_t *object = json_object();

	put_count(object, "windows", program->windows);
	put_count(object, "batches", program->batches);
	put_real(object, "stands_for_s", program->stands_for_s);
	put_real(object, "wait_s", program->wait_s);
	put_margin(object, "wait_margin_s", program->wait_margin_s);
	put_margin(object, "parallelism_margin", program->parallelism_margin);
	put_margin(object, "max_parallelism_margin", program->max_parallelism_margin);
	put_margin(object, "utilization_margin", program->utilization_margin);
	put_margin(object, "critical_path_margin_s", program->critical_path_margin_s);
	put_margin(object, "cpu_margin_s", program->cpu_margin_s);
	put_margin(object, "service_margin_s", program->blocked_margin_s[CPA_EXT_SERVICE]);
	put_margin(object, "idle_margin_s", program->blocked_margin_s[CPA_EXT_IDLE]);
	put_text(object, "sentence", sample);
	if (rivals)
		put_text(object, "rivals", rivals);
	if (uneven)
		put_text(object, "uneven", uneven);
	free(sample);
	free(uneven);
	free(rivals);
	return object;
}
