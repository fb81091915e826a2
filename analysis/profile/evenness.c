/* SPDX-License-Identifier: MIT */
#include "analysis/profile/evenness.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/components.h"

struct weighted {
	const struct cpa_batches *b;
	double *weight; /* [b->samples]: of the windows from this sample on */
};

/* What the windows from sample @i on had of the value at @place, of which the run has @end. */
static double difference(const struct cpa_batches *b, size_t i, size_t place, double end)
{
	const uint64_t *from = b->value + i * b->length + place;

	return (i + 1 < b->samples ? (double)from[b->length] : end) - (double)from[0];
}

/* Of a run with @on ticks of windows. Return how many ticks of it they stand for. */
static double find_weights(const struct weighted *w, double on)
{
	double all = 0;

	for (size_t i = 0; i < w->b->samples; i++) {
		double length = difference(w->b, i, CPA_WINDOW_ON, on);
		double gaps = difference(w->b, i, CPA_WINDOW_GAPS, (double)w->b->gaps);

		w->weight[i] = length > 0 ? (gaps + length) / length : 0;
		all += gaps + length;
	}
	return all;
}

/* The sum of the value at @place over all windows, of which the run has @end. */
static double sum(const struct weighted *w, size_t place, double end)
{
	double all = 0;

	for (size_t i = 0; i < w->b->samples; i++)
		all += w->weight[i] * difference(w->b, i, place, end);
	return all;
}

static double change(const struct cpa_uneven_share *share)
{
	return fabs(share->in_run - share->in_windows);
}

/* Keep @share if it is one of those that differ most. */
static void keep(struct cpa_uneven *uneven, struct cpa_uneven_share share)
{
	size_t at = uneven->count;

	if (!(change(&share) > CPA_UNEVEN_LEAST))
		return;
	while (at > 0 && change(&share) > change(&uneven->most[at - 1]))
		at--;
	if (at == CPA_UNEVEN_MOST)
		return;
	uneven->count += uneven->count < CPA_UNEVEN_MOST;
	memmove(uneven->most + at + 1, uneven->most + at, (uneven->count - at - 1) * sizeof(share));
	uneven->most[at] = share;
}

void cpa_evenness_find(struct cpa_build *build, const struct cpa_batches *b, const uint64_t *since)
{
	struct cpa_profile *profile = build->profile;
	struct weighted w = { b, xcalloc(b->samples + 1, sizeof(double)) };
	double end = (double)build->program.len, path, all;

	profile->program.stands_for_s =
		build->tick_s * find_weights(&w, profile->program.wall_s / build->tick_s);
	all = b->samples ? end - (double)b->value[CPA_WINDOW_LEN] : 0;
	path = sum(&w, CPA_WINDOW_LEN, end);
	for (size_t i = 0; i < profile->components && all > 0 && path > 0; i++) {
		const struct cpa_component_figures *c = &profile->component[i];
		size_t place = cpa_window_slot(b->slots, CPA_WINDOW_SHARE, c->slot);
		double had = (double)build->program.share[c->slot];

		if (since[c->slot] == 0)
			keep(&profile->uneven,
			     (struct cpa_uneven_share){
				     .component = c,
				     .in_windows = (had - (double)b->value[place]) / all,
				     .in_run = sum(&w, place, had) / path });
	}
	free(w.weight);
}
