/* SPDX-License-Identifier: MIT */
/* analysis/util/printable.h - text from a dump or an ELF file made safe for terminals and JSON */
#ifndef CPA_ANALYSIS_UTIL_PRINTABLE_H
#define CPA_ANALYSIS_UTIL_PRINTABLE_H

#include <stddef.h>

/*
 * A copy of @text, which ends at its NUL or after @max bytes: valid UTF-8 of the same length in
 * bytes or shorter, in which '?' stands for what is not UTF-8, control characters, and characters
 * that change the direction of text. The caller frees it.
 */
char *cpa_printable(const char *text, size_t max);

/* Columns that @text (as returned above) takes, one for each character. */
size_t cpa_printable_columns(const char *text);

/* Bytes of the first @columns characters of @text, or of all of it if it has fewer. */
size_t cpa_printable_bytes(const char *text, size_t columns);

/* What follows the last slash of @path. */
const char *cpa_printable_base(const char *path);

/*
 * What @location (NULL: not known) tells of something beside its @name: the location's base, "" if
 * the name says it, as "libz.so.1+0x4970" does of "/usr/lib/libz.so.1".
 */
const char *cpa_printable_where(const char *name, const char *location);

#endif
