/* SPDX-License-Identifier: MIT */
/* analysis/csv.h - one table of a profile as comma-separated values (RFC 4180) */
#ifndef CPA_ANALYSIS_CSV_H
#define CPA_ANALYSIS_CSV_H

#include <stdio.h>

#include "analysis/profile.h"
#include "analysis/text.h"

/*
 * Write the table of @level, all of its rows; of CPA_LEVEL_ALL the components. The columns are
 * named as in the JSON report; what is not known is empty. Errors show in @out.
 */
void cpa_csv_write(const struct cpa_profile *profile, enum cpa_level level, FILE *out);

#endif
