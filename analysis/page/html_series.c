/* SPDX-License-Identifier: MIT */
/* analysis/page/html_series.c - the metrics of IPS over time, as JSON for the page */
#include "analysis/page/html_series.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/render/json_put.h"

#define ROWS_MOST 32u /* of a level: more lines than can be told apart in a graph */

json_t *cpa_html_metrics(void)
{
	static const char *const units[] = { [CPA_IN_SECONDS] = "s",
					     [CPA_IN_NUMBERS] = "number",
					     [CPA_IN_RATIOS] = "ratio",
					     [CPA_IN_RATES] = "per second" };
	json_t *array = json_array();

	for (unsigned i = 0; i < CPA_METRICS; i++) {
		const struct cpa_metric_about *about = cpa_metric_about(i);
		json_t *object = json_object();

		put_text(object, "symbol", about->symbol);
		put_text(object, "key", about->key);
		put_text(object, "meaning", about->meaning);
		put_text(object, "unit", units[about->unit]);
		json_array_append_new(array, object);
	}
	return array;
}

static bool known(const double *value, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!isnan(value[i]))
			return true;
	return false;
}

static void add_rows(json_t *lines, const struct cpa_histogram *h)
{
	for (size_t i = 0; i < h->rows && i < ROWS_MOST; i++) {
		json_t *line;

		if (!known(h->value + i * h->bins, h->bins))
			continue;
		line = json_object();
		put_text(line, "metric", cpa_metric_about(h->metric)->key);
		put_text(line, "level", cpa_metric_level_name(h->level));
		put_text(line, "name", h->row[i]->name);
		put_count(line, "id", h->row[i]->id);
		json_object_set_new(line, "values", reals_json(h->value + i * h->bins, h->bins));
		json_array_append_new(lines, line);
	}
}

json_t *cpa_html_series(const struct cpa_profile *profile)
{
	static const enum cpa_metric_level levels[] = { CPA_AT_PROGRAM, CPA_AT_THREAD,
							CPA_AT_PROCEDURE };
	json_t *object = json_object(), *lines = json_array(), *until = NULL;

	for (unsigned i = 0; i < ARRAY_SIZE(levels); i++) {
		for (unsigned metric = 0; metric < CPA_METRICS; metric++) {
			struct cpa_histogram *h =
				cpa_histogram_build(profile, profile->metrics, metric, levels[i]);

			if (!h)
				continue;
			add_rows(lines, h);
			if (!until)
				until = reals_json(h->until_s, h->bins);
			cpa_histogram_free(h);
		}
	}
	json_object_set_new(object, "until_s", until ? until : json_array());
	json_object_set_new(object, "lines", lines);
	return object;
}
