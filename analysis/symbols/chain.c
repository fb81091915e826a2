/* SPDX-License-Identifier: MIT */
#include "analysis/symbols/chain.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>

#include "analysis/util/format.h"

#define SITE(key)   ((uint32_t)(key))
#define CALLER(key) ((uint32_t)((key) >> 32))

/* The key of row @number of the contexts; 0: there is no such row. */
static uint64_t key_of(const struct cpa_names *names, uint32_t number)
{
	struct cpa_context row;

	return cpa_dump_row(names->dump, CPA_TABLE_CONTEXTS, number, &row, sizeof(row)) ? row.key :
											  0;
}

/* Instrumented builds know some functions as a whole. */
static bool is_divided(const struct cpa_names *names, const struct cpa_component *row)
{
	return row && row->kind == CPA_FUNCTION &&
	       (row->by == CPA_BY_CALLERS ||
		(row->by == CPA_BY_ADDRESS && names->dump->header.by_callers && !row->calls));
}

/* Store the callers of row @at. Return the key of the root above them; 0: the rows are damaged. */
static uint64_t climb(const struct cpa_names *names, uint32_t at, struct cpa_chain *chain)
{
	uint64_t key = key_of(names, at);

	while (SITE(key)) {
		/* A caller's row was made first. */
		key = CALLER(key) < at ? key_of(names, at = CALLER(key)) : 0;
		if (SITE(key) && chain->callers < CPA_BY_MOST)
			chain->site[chain->callers++] = SITE(key);
	}
	return key;
}

bool cpa_chain_of(const struct cpa_names *names, uint32_t number, struct cpa_chain *chain)
{
	const struct cpa_component *row = cpa_names_row(names, number);
	uint64_t root;

	if (!is_divided(names, row))
		return false;
	*chain = (struct cpa_chain){ 0 };
	root = row->by == CPA_BY_CALLERS ? climb(names, row->context, chain) : 0;
	chain->cut = root != CPA_CONTEXT_PARTS && chain->callers < names->dump->header.by_callers;
	return true;
}

uint32_t cpa_chain_names(const struct cpa_chain *chain)
{
	return chain->callers + chain->cut;
}

const char *cpa_chain_name(struct cpa_names *names, const struct cpa_chain *chain, uint32_t i)
{
	const char *name = i < chain->callers ? cpa_names_site(names, chain->site[i], false)->name :
						NULL;

	return name ? name : "(callers not found)";
}

char *cpa_chain_component(struct cpa_names *names, uint32_t number)
{
	const char *own = cpa_names_component(names, number)->name;
	char *text = own ? xstrdup(own) : NULL, *longer;
	struct cpa_chain chain;

	if (!own || !cpa_chain_of(names, number, &chain))
		return text;
	for (uint32_t i = 0; i < cpa_chain_names(&chain); i++) {
		longer = cpa_format_text("%s <- %s", text, cpa_chain_name(names, &chain, i));
		free(text);
		text = longer;
	}
	return text;
}
