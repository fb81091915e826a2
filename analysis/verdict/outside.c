/* SPDX-License-Identifier: MIT */
/* analysis/verdict/outside.c - what a program does outside its parallel regions, by the stacks on the path */
#include <libiberty/libiberty.h>
#include <stdlib.h>

#include "analysis/profile/components.h"
#include "analysis/profile/contexts.h"
#include "analysis/symbols/construct.h"
#include "analysis/verdict/verdict_kinds.h"

/* Whether each of @contexts, by number, is in what a runtime of OpenMP calls. The caller frees it. */
static bool *find_inside(const struct cpa_contexts *contexts)
{
	bool *inside = xcalloc(contexts->count + 1, sizeof(*inside));

	/* A caller's number is less than its own. */
	for (size_t i = 0; i < contexts->count; i++)
		inside[i + 1] = cpa_construct_is_runtime(contexts->context[i].name) ||
				inside[contexts->context[i].caller];
	return inside;
}

void cpa_verdict_find_outside(struct cpa_facts *facts)
{
	const struct cpa_profile *profile = facts->profile;
	const struct cpa_contexts *contexts = profile->contexts;
	double *path_s;
	bool *inside;

	if (!contexts)
		return;
	inside = find_inside(contexts);
	path_s = xcalloc(profile->components + 1, sizeof(*path_s));
	for (size_t i = 0; i < contexts->count; i++) {
		const struct cpa_context_figures *each = &contexts->context[i];

		if (each->component && !inside[i + 1])
			path_s[each->component - profile->component] += each->path_s;
	}
	for (size_t i = 0; i < profile->components; i++)
		if (!profile->component[i].shared && path_s[i] > facts->outside_s) {
			facts->outside = &profile->component[i];
			facts->outside_s = path_s[i];
		}
	free(path_s);
	free(inside);
}
