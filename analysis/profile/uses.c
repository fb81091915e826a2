/* SPDX-License-Identifier: MIT */
#include "analysis/profile/uses.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>

#include "analysis/profile/build.h"
#include "analysis/profile/contexts.h"

static int compare_classes(const struct cpa_use_figures *x, const struct cpa_use_figures *y)
{
	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

/* By class and kind; of each, by context. */
static int compare_contexts(const void *a, const void *b)
{
	const struct cpa_use_figures *x = a, *y = b;
	int order = compare_classes(x, y);

	return order ? order : (x->context > y->context) - (x->context < y->context);
}

/* By class and kind; of each, longest first. */
static int compare_uses(const void *a, const void *b)
{
	const struct cpa_use_figures *x = a, *y = b;
	int order = compare_classes(x, y);

	if (order)
		return order;
	if (x->time_s != y->time_s)
		return x->time_s > y->time_s ? -1 : 1;
	return x->context < y->context ? -1 : x->context > y->context;
}

/* Rows of several calls in one function may be one context. */
static void add_up(struct cpa_contexts *contexts)
{
	size_t n = 0;

	qsort(contexts->use, contexts->uses, sizeof(*contexts->use), compare_contexts);
	for (size_t i = 0; i < contexts->uses; i++) {
		const struct cpa_use_figures *use = &contexts->use[i];

		if (n && !compare_contexts(&contexts->use[n - 1], use)) {
			contexts->use[n - 1].stacks += use->stacks;
			contexts->use[n - 1].time_s += use->time_s;
		} else {
			contexts->use[n++] = *use;
		}
	}
	contexts->uses = n;
}

void cpa_build_uses(struct cpa_build *build)
{
	struct cpa_contexts *contexts = build->profile->contexts;
	uint32_t rows = build->dump->rows[CPA_TABLE_USES];
	struct cpa_use row;

	if (!contexts)
		return;
	contexts->use = xcalloc((size_t)rows + 1, sizeof(*contexts->use));
	for (uint32_t i = 1; i <= rows; i++) {
		struct cpa_use_figures use;
		uint32_t context;

		if (!cpa_dump_row(build->dump, CPA_TABLE_USES, i, &row, sizeof(row)))
			continue;
		context = (uint32_t)row.key;
		use = (struct cpa_use_figures){
			.kind = (enum cpa_use_kind)(row.key >> 62),
			.class = (uint32_t)(row.key >> 32) & ((UINT32_C(1) << 30) - 1),
			.context = context <= build->dump->rows[CPA_TABLE_CONTEXTS] ?
					   contexts->of_row[context] :
					   0,
			.stacks = row.stacks,
			.time_s = cpa_build_seconds(build, row.ticks),
		};
		if (use.context)
			contexts->use[contexts->uses++] = use;
		else
			cpa_dump_skip(build->dump, CPA_TABLE_USES);
	}
	add_up(contexts);
	qsort(contexts->use, contexts->uses, sizeof(*contexts->use), compare_uses);
}

const struct cpa_use_figures *cpa_uses_of(const struct cpa_profile *profile, uint32_t class,
					  enum cpa_use_kind kind, size_t *count)
{
	const struct cpa_contexts *contexts = profile->contexts;
	const struct cpa_use_figures wanted = { .class = class, .kind = kind }, *first = NULL;

	*count = 0;
	for (size_t i = 0; contexts && i < contexts->uses; i++) {
		if (compare_classes(&contexts->use[i], &wanted))
			continue;
		first = first ? first : &contexts->use[i];
		++*count;
	}
	return first;
}
