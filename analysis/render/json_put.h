/* SPDX-License-Identifier: MIT */
/* analysis/render/json_put.h - write values into JSON objects; parts of the JSON report */
#ifndef CPA_ANALYSIS_RENDER_JSON_PUT_H
#define CPA_ANALYSIS_RENDER_JSON_PUT_H

#include <jansson.h>
#include <math.h>

#include "analysis/metrics/metrics.h"
#include "analysis/metrics/phases.h"

static inline void put_text(json_t *object, const char *key, const char *text)
{
	json_object_set_new(object, key, text ? json_string(text) : json_null());
}

static inline void put_bool(json_t *object, const char *key, bool value)
{
	json_object_set_new(object, key, json_boolean(value));
}

/* JSON integers here are int64_t; larger numbers come from damaged dumps. */
static inline void put_count(json_t *object, const char *key, uint64_t count)
{
	json_int_t value = count > INT64_MAX ? INT64_MAX : (json_int_t)count;

	json_object_set_new(object, key, json_integer(value));
}

/* Seconds and ratios, rounded to 1e-9. */
static inline void put_real(json_t *object, const char *key, double value)
{
	json_object_set_new(object, key, json_real(round(value * 1e9) / 1e9));
}

/* Seconds, or null if not known. */
static inline void put_known(json_t *object, const char *key, bool known, double value)
{
	if (known)
		put_real(object, key, value);
	else
		json_object_set_new(object, key, json_null());
}

/* A margin of error; NAN, as of a run without windows, is left out. */
static inline void put_margin(json_t *object, const char *key, double margin)
{
	if (!isnan(margin))
		put_real(object, key, margin);
}

/* An array of numbers; NAN becomes null. */
static inline json_t *reals_json(const double *values, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, isnan(values[i]) ?
						     json_null() :
						     json_real(round(values[i] * 1e9) / 1e9));
	return array;
}

/* Parts of the report, as docs/schema.json has them. The caller owns the reference. */

/* Put into the diagnostics what cpa did not see of the run, and who used the processors. */
void cpa_json_put_unexplained(json_t *diagnostics, const struct cpa_profile *profile);

json_t *cpa_json_lock_arrays(const struct cpa_profile *profile);
json_t *cpa_json_missing_symbols(const struct cpa_profile *profile);

/* Who called whom. */
json_t *cpa_json_contexts(const struct cpa_profile *profile);

json_t *cpa_json_queues(const struct cpa_profile *profile);
json_t *cpa_json_streams(const struct cpa_profile *profile);
json_t *cpa_json_parts(const struct cpa_profile *profile);
/* The windows of a budget. */
json_t *cpa_json_windows(const struct cpa_profile *profile);
struct cpa_teams;
json_t *cpa_json_teams(const struct cpa_teams *teams);
json_t *cpa_json_metrics(const struct cpa_metrics *metrics);
json_t *cpa_json_histogram(const struct cpa_histogram *histogram);
json_t *cpa_json_phases(const struct cpa_profile *profile, const struct cpa_phases *phases);

#endif
