/* SPDX-License-Identifier: MIT */
#include "analysis/derived/function.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/derived/find.h"
#include "analysis/symbols/chain.h"
#include "analysis/util/format.h"
#include "analysis/profile/components.h"

struct cpa_function cpa_function_of(const struct cpa_profile *profile,
				    const struct cpa_component_figures *component)
{
	struct cpa_function f = { .first = component,
				  .name = component->name,
				  .critical_path_s = component->critical_path_s,
				  .total_s = component->total_s };

	if (!component->part)
		return f;
	f = (struct cpa_function){ .name = component->part->function, .divided = true };
	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *each = &profile->component[i];

		if (!cpa_is_same_function(each, component))
			continue;
		f.first = f.first ? f.first : each;
		f.critical_path_s += each->critical_path_s;
		f.total_s += each->total_s;
	}
	return f;
}

bool cpa_is_component_named(const struct cpa_profile *profile,
			    const struct cpa_component_figures *component, const char *pattern)
{
	return cpa_is_named(profile, component->kind, component->slot, component->name, pattern) ||
	       (component->part && cpa_is_named(profile, component->kind, component->slot,
						component->part->function, pattern));
}

bool cpa_is_row_named(const struct cpa_profile *profile, struct cpa_names *names, uint32_t number,
		      const char *pattern)
{
	const struct cpa_component *row = cpa_names_row(names, number);
	const char *own = row ? cpa_names_component(names, number)->name : NULL;
	struct cpa_chain chain;
	bool named;
	char *part;

	if (!own || cpa_is_named(profile, row->kind, row->slot, own, pattern))
		return own;
	if (!cpa_chain_of(names, number, &chain))
		return false;
	part = cpa_chain_component(names, number);
	named = cpa_is_named(profile, row->kind, row->slot, part, pattern);
	free(part);
	return named;
}

bool cpa_is_function_named(const struct cpa_profile *profile,
			   const struct cpa_component_figures *component, const char *pattern)
{
	bool named = cpa_is_component_named(profile, component, pattern);

	for (size_t i = 0; component->part && i < profile->components && !named; i++)
		named = cpa_is_same_function(&profile->component[i], component) &&
			cpa_is_component_named(profile, &profile->component[i], pattern);
	return named;
}

char *cpa_part_of_function_callers(const struct cpa_part_of_function *part, size_t most)
{
	char *text = xstrdup(part->callers ? part->caller[0] : ""), *longer;

	for (size_t i = 1; i < part->callers && i < most; i++) {
		longer = cpa_format_text("%s <- %s", text, part->caller[i]);
		free(text);
		text = longer;
	}
	return text;
}
