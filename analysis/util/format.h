/* SPDX-License-Identifier: MIT */
/* analysis/util/format.h - texts, and figures in three digits with their unit */
#ifndef CPA_ANALYSIS_UTIL_FORMAT_H
#define CPA_ANALYSIS_UTIL_FORMAT_H

#include <stdarg.h>
#include <stdint.h>

/*
 * As asprintf(), but returns the text, which the caller frees, and exits if there is no memory.
 * (libiberty's xasprintf does not support %zu.)
 */
char *cpa_format_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *cpa_format_args(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

struct cpa_figure {
	char text[32];
};

/* "8.41 s", "84.1 ms", "840 us", "1.20 us", "0 s" */
struct cpa_figure cpa_format_seconds(double seconds);

/* "36.2%" of @whole; "-" if @whole is 0. */
struct cpa_figure cpa_format_percent(double part, double whole);

/* "7.26" */
struct cpa_figure cpa_format_ratio(double ratio);

/* "98304", "1.23 M", "4.56 G" */
struct cpa_figure cpa_format_count(uint64_t count);

#endif
