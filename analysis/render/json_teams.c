/* SPDX-License-Identifier: MIT */
/* analysis/render/json_teams.c - parallel regions of OpenMP as JSON */
#include "analysis/derived/teams.h"
#include "analysis/render/json_put.h"

static void put_ratio(json_t *object, const char *key, double ratio)
{
	put_known(object, key, ratio > 0, ratio);
}

static json_t *efficiency_json(const struct cpa_efficiency *efficiency)
{
	json_t *object = json_object();

	put_ratio(object, "parallel", cpa_efficiency_parallel(efficiency));
	put_ratio(object, "load_balance", efficiency->load_balance);
	put_ratio(object, "communication", cpa_efficiency_communication(efficiency));
	put_ratio(object, "serialisation", efficiency->serialisation);
	put_ratio(object, "transfer", efficiency->transfer);
	return object;
}

static json_t *threads_json(const struct cpa_team_figures *row)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < row->threads; i++) {
		json_t *object = json_object();

		put_count(object, "id", row->thread[i].id);
		put_count(object, "tid", row->thread[i].tid);
		put_real(object, "work_s", row->thread[i].work_s);
		put_real(object, "wait_s", row->thread[i].wait_s);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *row_json(const struct cpa_team_figures *row)
{
	json_t *object = json_object();

	put_text(object, "kind", row->construct ? "construct" : "region");
	put_text(object, "name", row->name);
	put_text(object, "location", row->location);
	put_count(object, "instances", row->instances);
	put_known(object, "elapsed_s", !row->construct, row->elapsed_s);
	put_real(object, "work_s", row->work_s);
	put_real(object, "wait_s", row->wait_s);
	put_real(object, "most_s", row->most_s);
	put_real(object, "even_s", row->even_s);
	put_real(object, "chain_s", row->chain_s);
	put_known(object, "saved_s", row->has_saved, row->saved_s);
	put_real(object, "balanced_saved_s", row->balanced_saved_s);
	json_object_set_new(object, "efficiency", efficiency_json(&row->efficiency));
	json_object_set_new(object, "threads", threads_json(row));
	return object;
}

json_t *cpa_json_teams(const struct cpa_teams *teams)
{
	json_t *object = json_object(), *rows = json_array();

	put_real(object, "parallel_s", teams->parallel_s);
	put_real(object, "serial_s", teams->serial_s);
	put_real(object, "balanced_saved_s", teams->balanced_saved_s);
	put_count(object, "threads", teams->threads);
	json_object_set_new(object, "efficiency", efficiency_json(&teams->efficiency));
	for (size_t i = 0; i < teams->rows; i++)
		json_array_append_new(rows, row_json(&teams->row[i]));
	json_object_set_new(object, "rows", rows);
	return object;
}
