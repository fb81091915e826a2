/* SPDX-License-Identifier: MIT */
/* analysis/render/construct_text.c - names of OpenMP constructs in the columns of a table */
#include "analysis/render/construct_text.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/util/format.h"
#include "analysis/util/printable.h"
#include "analysis/profile/components.h"

/* @name without " parallel" in front of @rest, which is its end. The caller frees it. */
static char *without_word(const char *name, const char *rest)
{
	static const char word[] = "parallel";
	const char *found = strstr(name, word), *behind;

	if (!found || found > rest || (found > name && found[-1] != ' '))
		return xstrndup(name, (size_t)(rest - name));
	behind = found + strlen(word);
	if (behind < rest) /* "parallel under solve()" */
		return cpa_format_text("%.*s%.*s", (int)(found - name), name,
				       (int)(rest - behind - 1), behind + 1);
	return xstrndup(name, found > name ? (size_t)(found - name - 1) : 0);
}

/*
 * The end of @name that says where its code is: " at @where", or " [libsolve.so+0x1234]"; NULL:
 * none.
 */
static const char *place_in(const char *name, const char *where)
{
	const char *bracket = strrchr(name, '['), *at = NULL;

	for (const char *next = name; (next = strstr(next, " at ")); next++)
		at = next;
	if (at && *where && strcmp(at + strlen(" at "), where) == 0)
		return at;
	return bracket > name && bracket[-1] == ' ' && name[strlen(name) - 1] == ']' ? bracket - 1 :
										       NULL;
}

struct cpa_columns cpa_columns_of(const struct cpa_component_figures *component)
{
	const char *base = component->location ? cpa_printable_base(component->location) : "";
	const char *rest = component->kind == CPA_LOCK ? NULL : place_in(component->name, base);
	struct cpa_columns columns;

	if (!rest) {
		columns.name = xstrdup(component->name);
		columns.where = xstrdup(cpa_printable_where(component->name, component->location));
		return columns;
	}
	columns.name = component->kind == CPA_REGION ?
			       without_word(component->name, rest) :
			       xstrndup(component->name, (size_t)(rest - component->name));
	columns.where = rest[1] == '[' ? xstrndup(rest + 2, strlen(rest) - 3) : xstrdup(base);
	if (!*columns.name) { /* clang's, or no name known */
		free(columns.name);
		columns.name = xstrdup("parallel");
	}
	return columns;
}

void cpa_columns_fini(struct cpa_columns *columns)
{
	free(columns->name);
	free(columns->where);
}

char *cpa_text_region(const char *name)
{
	const char *at = strstr(name, " at "), *rest = at ? at : place_in(name, ""), *offset;
	char *before, *text;

	if (!rest)
		return xstrdup(name);
	before = without_word(name, rest);
	offset = at ? NULL : strstr(rest, "+0x");
	if (!*before)
		text = xstrdup(rest + 1);
	else if (offset)
		text = cpa_format_text("%s %.*s", before, (int)strcspn(offset, "]"), offset);
	else
		text = cpa_format_text("%s %s", before, rest + (at ? strlen(" at ") : 1));
	free(before);
	return text;
}
