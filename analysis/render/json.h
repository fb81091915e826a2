/* SPDX-License-Identifier: MIT */
/* analysis/render/json.h - a profile as JSON, with stable keys */
#ifndef CPA_ANALYSIS_RENDER_JSON_H
#define CPA_ANALYSIS_RENDER_JSON_H

#include <stdio.h>

#include "analysis/profile/profile.h"

/* Write @profile and a newline to @out. Return 0, or -1 if it could not be written. */
int cpa_json_write(const struct cpa_profile *profile, FILE *out);

#endif
