/* SPDX-License-Identifier: MIT */
/* analysis/util/browse.h - show a page to the user */
#ifndef CPA_ANALYSIS_UTIL_BROWSE_H
#define CPA_ANALYSIS_UTIL_BROWSE_H

#include <stdbool.h>

/*
 * Start the user's browser with @file, by xdg-open, and go on at once. What it prints is lost.
 * Return false if there is no xdg-open.
 */
bool cpa_browse(const char *file);

/*
 * Create an empty file for a page, which only the user can read, in $TMPDIR or /tmp. Return its
 * name, which the caller frees; NULL with errno set if it cannot be created.
 */
char *cpa_browse_file(void);

#endif
