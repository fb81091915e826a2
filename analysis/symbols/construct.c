/* SPDX-License-Identifier: MIT */
/*
 * analysis/symbols/construct.c - names of OpenMP constructs, from those that compilers give their
 * code
 */
#include "analysis/symbols/construct.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/symbols/demangle.h"
#include "analysis/util/format.h"
#include "analysis/util/printable.h"

const char *cpa_construct_word(const struct cpa_component *row)
{
	if (row->by != CPA_BY_ADDRESS && row->by != CPA_BY_FIRST_SITE)
		return NULL;
	return row->kind == CPA_REGION				       ? "parallel" :
	       row->kind == CPA_QUEUE && row->object_kind == CPA_TASKS ? "task" :
									 NULL;
}

#define POOL "OpenMP pool"

/* A name that a compiler made: that of the function, and what it added. */
struct made {
	char *call; /* "solve()", "solve(int)"; "": not known, as clang does not tell */
	const char *added;
	int length; /* of `added`; 0: the compiler made no such name */
};

/* Behind @count hexadecimal numbers, each with a "_" behind it, at @text; NULL: there are none. */
static const char *behind_numbers(const char *text, unsigned count)
{
	for (; text && count; count--) {
		size_t digits = strspn(text, "0123456789abcdef");

		text = digits && text[digits] == '_' ? text + digits + 1 : NULL;
	}
	return text;
}

/*
 * The function whose target region clang made the function @name of @length characters:
 * "__omp_offloading_fe00_aa2221_solve_l12", with the numbers of device, file and line. NULL: it is no such one. The
 * caller frees it.
 */
static char *offloading(const char *name, size_t length)
{
	static const char prefix[] = "__omp_offloading_";
	const char *function, *end = NULL;
	char *whole, *call;

	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
		return NULL;
	whole = xstrndup(name, length);
	function = behind_numbers(whole + sizeof(prefix) - 1, 2);
	for (const char *at = function; at && (at = strstr(at, "_l")); at++)
		if (at[2] >= '0' && at[2] <= '9')
			end = at;
	call = end ? xstrndup(function, (size_t)(end - function)) : NULL;
	free(whole);
	whole = call ? cpa_demangle(call, NULL) : NULL;
	free(call);
	return whole;
}

/* The parts of @name, which outlives the result. The caller frees its call. */
static struct made split(const char *name)
{
	static const struct {
		const char *text;
		size_t before; /* characters of it that only lead to what is added */
	} suffix[] = { { " [clone ._omp_fn.", 9 },
		       { "._omp_fn.", 1 },
		       { ".omp_outlined", 0 },
		       { ".omp_task_entry", 0 } };
	struct made made = { .added = "" };
	size_t length = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(suffix) && !made.length; i++) {
		const char *at = strstr(name, suffix[i].text);

		if (!at)
			continue;
		length = (size_t)(at - name);
		made.added = at + suffix[i].before;
		made.length = (int)strcspn(made.added, "]");
	}
	made.call = offloading(name, length);
	if (!made.call)
		made.call = xstrndup(name, length);
	if (made.call[0] && !strchr(made.call, '('))
		made.call = reconcat(made.call, made.call, "()", NULL);
	return made;
}

/* "solve.c:88"; NULL: only the module is known. */
static const char *line_of(const struct cpa_place *place)
{
	const char *base = place->location ? cpa_printable_base(place->location) : NULL;

	return base && strchr(base, ':') ? base : NULL;
}

void cpa_construct_met(struct cpa_place *place, const char *inlined)
{
	const char *last = inlined;
	unsigned tabs = 0;

	for (const char *at = inlined; at && (at = strchr(at, '\t')); at++)
		if (++tabs % 3 == 0)
			last = at + 1;
	if (!last)
		return;
	free(place->name);
	place->name = cpa_format_text("%.*s", (int)strcspn(last, "\t"), last);
}

bool cpa_construct_is_nameless(const struct cpa_place *place)
{
	return !line_of(place) && (place->nameless || place->name[0] == '.');
}

void cpa_construct_name(struct cpa_place *place, const char *what, const char *under)
{
	struct made made = split(place->name);
	const char *line = line_of(place), *space;
	char *name;

	if (place->nameless && !made.length) {
		made.call[0] = 0;
		made.added = place->name;
		made.length = (int)strlen(place->name);
	}
	space = made.call[0] ? " " : "";
	if (line)
		name = cpa_format_text("%s%s%s at %s", made.call, space, what, line);
	else if (!made.length)
		name = cpa_format_text("%s%s%s", made.call, space, what);
	else if (!made.call[0] && under)
		name = cpa_format_text("%s under %s() [%.*s]", what, under, made.length,
				       made.added);
	else
		name = cpa_format_text("%s%s%s [%.*s]", made.call, space, what, made.length,
				       made.added);
	free(made.call);
	free(place->name);
	place->name = name;
}

char *cpa_construct_call(const char *name)
{
	return split(name).call;
}

bool cpa_construct_lacks_function(const struct cpa_place *place)
{
	struct made made = split(place->name);
	bool lacks = made.length && !made.call[0] && line_of(place);

	free(made.call);
	return lacks;
}

void cpa_construct_body(struct cpa_place *place, bool begins, const char *within)
{
	struct made made = split(place->name);
	const char *line = line_of(place);
	const char *call = made.call[0] || !within ? made.call : within;
	char *target = made.length ? NULL : offloading(place->name, strlen(place->name));

	if ((made.length || target) && line && (begins || call[0])) {
		free(place->name);
		place->name = cpa_format_text("%s%s%s%s%s", call, call[0] ? " " : "",
					      target ? "target" : "body", begins ? " at " : "",
					      begins ? line : "");
	}
	free(target);
	free(made.call);
}

/* Whether @name begins with one of @n prefixes. */
static bool begins_with(const char *name, const char *const prefix[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strncmp(name, prefix[i], strlen(prefix[i])) == 0)
			return true;
	return false;
}

/* Whether @name is of a function without a name in a runtime's library. */
static bool is_in_runtime(const char *name)
{
	static const char *const libraries[] = { "libgomp.so", "libomp.so", "libomp-",
						 "libiomp5.so" };

	return begins_with(name, libraries, ARRAY_SIZE(libraries));
}

bool cpa_construct_is_runtime(const char *name)
{
	static const char *const functions[] = { "GOMP_", "gomp_", "__kmp" };

	return is_in_runtime(name) || begins_with(name, functions, ARRAY_SIZE(functions));
}

void cpa_construct_pool(struct cpa_place *place)
{
	if (!place->nameless || !is_in_runtime(place->name))
		return;
	free(place->name);
	place->name = xstrdup(POOL);
	place->nameless = false;
}

bool cpa_construct_is_pool(const char *routine)
{
	return strcmp(routine, POOL) == 0 || cpa_construct_is_runtime(routine);
}

void cpa_construct_critical(struct cpa_place *place)
{
	static const char prefix[] = ".gomp_critical_user_";
	size_t length;
	char *name;

	if (strncmp(place->name, prefix, sizeof(prefix) - 1) != 0)
		return;
	length = strcspn(place->name + sizeof(prefix) - 1, ".");
	name = length ? cpa_format_text("critical(%.*s)", (int)length,
					place->name + sizeof(prefix) - 1) :
			xstrdup("omp critical");
	free(place->name);
	place->name = name;
}
