/* SPDX-License-Identifier: MIT */
/* analysis/util/format.c - texts, and figures in three digits with their unit */
#include "analysis/util/format.h"

#include <inttypes.h>
#include <libiberty/libiberty.h>
#include <stdio.h>

char *cpa_format_args(const char *format, va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) < 0)
		xmalloc_failed(1);
	return text;
}

char *cpa_format_text(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = cpa_format_args(format, args);
	va_end(args);
	return text;
}

static struct cpa_figure three_digits(double value, const char *unit)
{
	struct cpa_figure figure;
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	snprintf(figure.text, sizeof(figure.text), "%.*f%s", decimals, value, unit);
	/* A larger value comes from a damaged dump. */
	if (value > 1e15)
		snprintf(figure.text, sizeof(figure.text), "%.2e%s", value, unit);
	return figure;
}

struct cpa_figure cpa_format_seconds(double seconds)
{
	if (seconds <= 0)
		return (struct cpa_figure){ "0 s" };
	if (seconds >= 0.9995)
		return three_digits(seconds, " s");
	if (seconds >= 0.9995e-3)
		return three_digits(seconds * 1e3, " ms");
	return three_digits(seconds * 1e6, " us");
}

struct cpa_figure cpa_format_percent(double part, double whole)
{
	struct cpa_figure figure = { "-" };

	if (whole > 0)
		snprintf(figure.text, sizeof(figure.text), "%.1f%%", 100 * part / whole);
	return figure;
}

struct cpa_figure cpa_format_ratio(double ratio)
{
	return three_digits(ratio, "");
}

struct cpa_figure cpa_format_count(uint64_t count)
{
	struct cpa_figure figure;

	if (count >= 1000000000)
		return three_digits((double)count / 1e9, " G");
	if (count >= 1000000)
		return three_digits((double)count / 1e6, " M");
	snprintf(figure.text, sizeof(figure.text), "%" PRIu64, count);
	return figure;
}
