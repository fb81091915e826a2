/* SPDX-License-Identifier: MIT */
/* analysis/predict/whatif.c - changes to a program, as said on the command line */
#include "analysis/predict/whatif.h"

#include <errno.h>
#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#define WORKERS " workers"
#define THREADS " threads"
#define SPLIT	"split:"
#define STREAM	"stream:"
#define LOOP	"loop:"

static int wrong(const char **error, const char *what)
{
	*error = what;
	return -1;
}

static int parse_kind(const char *text, size_t length, enum cpa_component_kind *kind)
{
	static const struct {
		const char *word;
		enum cpa_component_kind kind;
	} known[] = { { "function", CPA_FUNCTION }, { "lock", CPA_LOCK },
		      { "region", CPA_REGION },	    { "thread", CPA_THREAD },
		      { "queue", CPA_QUEUE },	    { "external", CPA_EXTERNAL } };

	for (unsigned i = 0; i < ARRAY_SIZE(known); i++) {
		if (strlen(known[i].word) != length || strncmp(known[i].word, text, length) != 0)
			continue;
		*kind = known[i].kind;
		return 0;
	}
	return -1;
}

static bool parse_count(const char *text, uint32_t least, uint32_t *count)
{
	char *end;
	unsigned long number;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || errno || *end || number < least ||
	    number > CPA_CHANGE_NUMBER_MAX)
		return false;
	*count = (uint32_t)number;
	return true;
}

bool cpa_change_factor(const char *text, double *factor)
{
	char *end;

	if (!*text || text[strspn(text, "0123456789.")])
		return false;
	*factor = strtod(text, &end);
	return end != text && !*end && *factor <= CPA_CHANGE_FACTOR_MAX;
}

static int parse_value(struct cpa_change *change, const char *value, const char **error)
{
	if (change->of == CPA_REGION && strcmp(value, "balance") == 0) {
		change->kind = CPA_CHANGE_BALANCE;
		return 0;
	}
	if (strcmp(value, "drop") == 0) {
		change->kind = CPA_CHANGE_DROP;
	} else if (strncmp(value, SPLIT, strlen(SPLIT)) == 0) {
		change->kind = CPA_CHANGE_SPLIT;
		if (!parse_count(value + strlen(SPLIT), 2, &change->number))
			return wrong(error, "split: a number of locks from 2 to 4096 expected");
	} else {
		change->kind = CPA_CHANGE_SCALE;
		if (!cpa_change_factor(value, &change->factor))
			return wrong(error,
				     "after '=' a factor from 0 to 100, drop, split:N or balance "
				     "expected");
		return 0;
	}
	return change->of == CPA_LOCK ? 0 : wrong(error, "drop and split are for locks");
}

static int parse_stream(struct cpa_change *change, const char *colon, const char *equals,
			const char **error)
{
	if (!cpa_change_factor(equals + 1, &change->factor))
		return wrong(error, "after '=' a factor from 0 to 100 expected");
	if (equals == colon + 1)
		return wrong(error, "a name is missing behind ':'");
	change->kind = CPA_CHANGE_TRANSFER;
	change->name = xstrndup(colon + 1, (size_t)(equals - colon) - 1);
	return 0;
}

static int parse_loop(struct cpa_change *change, const char *colon, const char *equals,
		      const char **error)
{
	if (strcmp(equals + 1, "dynamic") != 0)
		return wrong(error, "after '=' of a loop dynamic expected");
	if (equals == colon + 1)
		return wrong(error, "a name is missing behind ':'");
	change->kind = CPA_CHANGE_DYNAMIC;
	change->of = CPA_REGION;
	change->name = xstrndup(colon + 1, (size_t)(equals - colon) - 1);
	return 0;
}

int cpa_change_parse(struct cpa_change *change, const char *text, const char **error)
{
	const char *colon = strchr(text, ':'), *equals = strrchr(text, '=');
	size_t suffix = strlen(WORKERS), length;

	*change = (struct cpa_change){ .factor = 1 };
	if (!colon || !equals || equals < colon)
		return wrong(error, "KIND:NAME=FACTOR, lock:NAME=drop, lock:NAME=split:N, "
				    "region:NAME=balance, 'region:NAME threads=N', "
				    "loop:NAME=dynamic or 'queue:NAME workers=N' expected");
	if (strncmp(text, STREAM, strlen(STREAM)) == 0)
		return parse_stream(change, colon, equals, error);
	if (strncmp(text, LOOP, strlen(LOOP)) == 0)
		return parse_loop(change, colon, equals, error);
	if (parse_kind(text, (size_t)(colon - text), &change->of) < 0)
		return wrong(error,
			     "function, lock, region, loop, thread, queue, external or stream "
			     "expected before ':'");
	length = (size_t)(equals - colon) - 1;
	if ((change->of == CPA_QUEUE || change->of == CPA_REGION) && length >= suffix &&
	    strncmp(equals - suffix, change->of == CPA_QUEUE ? WORKERS : THREADS, suffix) == 0) {
		length -= suffix;
		change->kind = change->of == CPA_QUEUE ? CPA_CHANGE_WORKERS : CPA_CHANGE_BALANCE;
		if (!parse_count(equals + 1, 1, &change->number))
			return wrong(error, "workers, threads: a number from 1 to 4096 expected");
	} else if (parse_value(change, equals + 1, error) < 0) {
		return -1;
	}
	if (length == 0)
		return wrong(error, "a name is missing behind ':'");
	change->name = xstrndup(colon + 1, length);
	return 0;
}
