/* SPDX-License-Identifier: MIT */
/* analysis/util/printable.h - text from a dump or an ELF file made safe for terminals and JSON */
#ifndef CPA_ANALYSIS_UTIL_PRINTABLE_H
#define CPA_ANALYSIS_UTIL_PRINTABLE_H

#include <stddef.h>

/*
 * A copy of @text, which ends at its NUL or after @max bytes. The result is valid UTF-8 of at most
 * the same length in bytes; '?' replaces invalid bytes, control characters, and characters that
 * change the text direction. The caller frees it.
 */
char *cpa_printable(const char *text, size_t max);

/* Width of @text, a result of cpa_printable(), in columns: one for each character. */
size_t cpa_printable_columns(const char *text);

/* Length in bytes of the first @columns characters of @text, or of all of it if it is shorter. */
size_t cpa_printable_bytes(const char *text, size_t columns);

/* The part of @path after its last slash. */
const char *cpa_printable_base(const char *path);

/*
 * The base name of @location (NULL: not known); "" if @name already contains it, as
 * "libz.so.1+0x4970" contains that of "/usr/lib/libz.so.1".
 */
const char *cpa_printable_where(const char *name, const char *location);

#endif
