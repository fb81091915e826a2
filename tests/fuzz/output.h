/* SPDX-License-Identifier: MIT */
/* tests/fuzz/output.h - what must hold of any text that is made of a file that lies */
#ifndef CPA_TESTS_FUZZ_OUTPUT_H
#define CPA_TESTS_FUZZ_OUTPUT_H

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/util/printable.h"

__attribute__((noreturn, format(printf, 1, 2))) static inline void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("tests/fuzz: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	abort();
}

/* Text that a terminal shows and does not obey; @ends: what else its lines may end with, or "". */
static inline void check_text(const char *what, const char *text, size_t size, const char *ends)
{
	char *clean;

	for (size_t i = 0, from = 0; i <= size; i++) {
		if (i < size && (!text[i] || !strchr(ends, text[i])))
			continue;
		if (memchr(text + from, '\0', i - from))
			fail("%s: a NUL", what);
		clean = cpa_printable(text + from, i - from);
		if (strlen(clean) != i - from || memcmp(clean, text + from, i - from) != 0)
			fail("%s: not printable, line \"%s\"", what, clean);
		free(clean);
		from = i + 1;
	}
}

static inline void check_json(const char *text, size_t size)
{
	json_error_t error;
	json_t *json = json_loadb(text, size, 0, &error);

	if (!json)
		fail("JSON: %s at byte %d", error.text, error.position);
	json_decref(json);
}

/* A message is one printable line; it is freed. */
static inline void check_message(char *error)
{
	check_text("message", error, strlen(error), "");
	free(error);
}

#endif
