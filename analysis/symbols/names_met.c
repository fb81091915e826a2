/* SPDX-License-Identifier: MIT */
/* analysis/symbols/names_met.c - constructs of OpenMP of which the runtime tells where they are met */
#include "analysis/symbols/names_met.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/symbols/construct.h"
#include "analysis/symbols/tail_call.h"

static void forget(struct cpa_place *place)
{
	free(place->name);
	free(place->location);
	free(place->inlined);
}

struct cpa_place cpa_names_met(struct cpa_names *names, const struct cpa_component *row)
{
	uint64_t jump = cpa_tail_call(names, row->module, row->address);
	struct cpa_place place =
		cpa_symbols_code(names->symbols, row->module, jump ? jump : row->address, !jump);
	struct cpa_place met =
		cpa_symbols_inlined(names->symbols, row->module, jump ? jump : row->address - 1);

	cpa_construct_met(&place, met.inlined);
	forget(&met);
	return place;
}

/* The same if the construct @row is at @location; else NULL. */
static char *within(struct cpa_names *names, const struct cpa_component *row, const char *location)
{
	struct cpa_place place = cpa_names_met(names, row);
	char *call = NULL;

	if (place.location && strcmp(place.location, location) == 0 && !place.nameless)
		call = cpa_construct_call(place.name);
	forget(&place);
	if (call && call[0])
		return call;
	free(call); /* in the body of another one */
	return NULL;
}

char *cpa_names_within(struct cpa_names *names, uint32_t module, const char *location)
{
	char *call = NULL;

	for (uint32_t i = 1; i <= names->components && !call; i++) {
		const struct cpa_component *row = cpa_names_row(names, i);

		if (row && row->by == CPA_BY_FIRST_SITE && row->module == module &&
		    cpa_construct_word(row))
			call = within(names, row, location);
	}
	return call;
}
