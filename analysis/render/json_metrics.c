/* SPDX-License-Identifier: MIT */
/* analysis/render/json_metrics.c - metrics and phases as JSON */
#include "analysis/render/json_put.h"
#include "analysis/symbols/names.h"
#include "analysis/profile/components.h"

/* Unknown values are null; metrics that are not defined at the level are left out. */
static void put_metrics(json_t *object, const double value[CPA_METRICS],
			enum cpa_metric_level level)
{
	for (unsigned i = 0; i < CPA_METRICS; i++)
		if (cpa_metric_about(i)->at[level])
			put_known(object, cpa_metric_about(i)->key, !isnan(value[i]), value[i]);
}

static json_t *row_json(const struct cpa_metric_row *row, enum cpa_metric_level level)
{
	json_t *object = json_object();

	if (level == CPA_AT_EVENT) {
		put_count(object, "node", row->id);
		put_count(object, "count", (uint64_t)fmin(row->base.events, 1e18));
	} else if (row->id) {
		put_count(object, "id", row->id);
	}
	put_text(object, "name", row->name);
	if (level >= CPA_AT_THREAD)
		put_text(object, level == CPA_AT_THREAD ? "thread_name" : "where", row->where);
	put_metrics(object, row->value, level);
	return object;
}

json_t *cpa_json_metrics(const struct cpa_metrics *m)
{
	static const char *const keys[CPA_METRIC_LEVELS] = {
		[CPA_AT_MACHINE] = "machines", [CPA_AT_PROCESS] = "processes",
		[CPA_AT_THREAD] = "threads",   [CPA_AT_PROCEDURE] = "procedures",
		[CPA_AT_EVENT] = "events",
	};
	json_t *object = json_object();

	json_object_set_new(object, "program",
			    row_json(&m->row[CPA_AT_PROGRAM][0], CPA_AT_PROGRAM));
	for (unsigned level = CPA_AT_MACHINE; level < CPA_METRIC_LEVELS; level++) {
		json_t *array = json_array();

		for (size_t i = 0; i < m->rows[level]; i++)
			json_array_append_new(array, row_json(&m->row[level][i], level));
		json_object_set_new(object, keys[level], array);
	}
	return object;
}

json_t *cpa_json_histogram(const struct cpa_histogram *h)
{
	json_t *object = json_object(), *rows = json_array();

	put_text(object, "metric", cpa_metric_about(h->metric)->key);
	put_text(object, "level", cpa_metric_level_name(h->level));
	json_object_set_new(object, "until_s", reals_json(h->until_s, h->bins));
	for (size_t i = 0; i < h->rows; i++) {
		json_t *row = json_object();

		put_text(row, "name", h->row[i]->name);
		if (h->row[i]->id)
			put_count(row, "id", h->row[i]->id);
		json_object_set_new(row, "values", reals_json(h->value + i * h->bins, h->bins));
		json_array_append_new(rows, row);
	}
	json_object_set_new(object, "rows", rows);
	return object;
}

static json_t *phase_json(const struct cpa_profile *profile, const struct cpa_phase *phase)
{
	json_t *object = json_object(), *components = json_array();

	put_text(object, "name", phase->name);
	put_text(object, "by", cpa_phase_by_name(phase->by));
	put_real(object, "from_s", phase->from_s);
	put_real(object, "to_s", phase->to_s);
	put_known(object, "sampled_from_s", phase->sampled, phase->sampled_from_s);
	put_known(object, "sampled_to_s", phase->sampled, phase->sampled_to_s);
	put_known(object, "critical_path_s", phase->sampled, phase->path_s);
	put_bool(object, "path_changed", phase->path_changed);
	put_metrics(object, phase->value, CPA_AT_PROGRAM);
	for (size_t i = 0; i < phase->shares; i++) {
		const struct cpa_phase_share *share = &phase->share[i];
		const struct cpa_component_figures *component =
			&profile->component[share->component];
		json_t *one = json_object();

		put_text(one, "kind", cpa_names_component_kind(component->kind));
		put_text(one, "name", component->name);
		put_known(one, "critical_path_s", !phase->path_changed, share->path_s);
		put_real(one, "saved_s", share->saved_s);
		put_real(one, "total_s", share->total_s);
		json_array_append_new(components, one);
	}
	json_object_set_new(object, "components", components);
	return object;
}

json_t *cpa_json_phases(const struct cpa_profile *profile, const struct cpa_phases *p)
{
	json_t *object = json_object(), *phases = json_array();

	put_known(object, "threshold", p->step > 0, p->step);
	put_count(object, "window", p->window);
	put_real(object, "interval_s", p->interval_s);
	put_count(object, "metrics", p->curves - p->left_out);
	put_count(object, "metrics_left_out", p->left_out);
	for (size_t i = 0; i < p->count; i++)
		json_array_append_new(phases, phase_json(profile, &p->phase[i]));
	json_object_set_new(object, "phases", phases);
	return object;
}
