/* SPDX-License-Identifier: MIT */
/* analysis/render/json.h - a profile as JSON, with stable keys */
#ifndef CPA_ANALYSIS_RENDER_JSON_H
#define CPA_ANALYSIS_RENDER_JSON_H

#include <jansson.h>
#include <stdio.h>

#include "analysis/profile/profile.h"

/* Version of docs/schema.json: it grows when a key is removed or changes its meaning. */
#define CPA_JSON_SCHEMA 1

/* The whole profile as a JSON object, which the caller releases. */
json_t *cpa_json_profile(const struct cpa_profile *profile);

/* Write @profile and a newline to @out. Return 0, or -1 if it could not be written. */
int cpa_json_write(const struct cpa_profile *profile, FILE *out);

#endif
