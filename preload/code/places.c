/* SPDX-License-Identifier: MIT */
#include "preload/code/places.h"

#include "preload/code/function.h"

#define MOST_SITES 131072u /* sites of a session from which on stacks have no line, */
#define MOST_NODES 262144u /* or contexts from which on they have none of their calls */

/* Relaxed, both: limits. */
bool cpa_places_have_many_sites(void)
{
	return __atomic_load_n(&cpa_table(CPA_TABLE_SITES)->used, __ATOMIC_RELAXED) >= MOST_SITES;
}

static bool has_many_contexts(void)
{
	return __atomic_load_n(&cpa_table(CPA_TABLE_CONTEXTS)->used, __ATOMIC_RELAXED) >=
	       MOST_NODES;
}

struct cpa_place cpa_place_find(const struct cpa_walk_frame *frame)
{
	struct cpa_place place = { .key = cpa_place_key(frame) };

	if (cpa_function_is_ours(frame->function))
		return place;
	place.function = cpa_function_site(frame->function);
	if (frame->call && place.function && !cpa_places_have_many_sites() && !has_many_contexts())
		place.site = cpa_call_site(frame->call, place.function);
	if (!place.site)
		place.site = place.function;
	return place;
}
