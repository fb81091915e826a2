/* SPDX-License-Identifier: MIT */
/* analysis/export/sqlite.h - a profile as an SQLite database, one table a kind */
#ifndef CPA_ANALYSIS_EXPORT_SQLITE_H
#define CPA_ANALYSIS_EXPORT_SQLITE_H

#include <stdio.h>

#include "analysis/profile/profile.h"

/*
 * Write @profile to @out as the bytes of a database file. Return 0; or -1 with errno set if it
 * could not be written.
 */
int cpa_sqlite_write(const struct cpa_profile *profile, FILE *out);

#endif
