/* SPDX-License-Identifier: MIT */
#include "analysis/profile/evenness.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/components.h"

struct weighted {
	const struct cpa_batches *b;
	double *weight;	    /* [b->samples]: of the windows from this sample on */
	double *unweighted; /* [b->count]: scratch */
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

/* Set @batch to the same of each batch: those at the end of the run are in none. */
static void take_batches(const struct weighted *w, size_t place, double *batch)
{
	const struct cpa_batches *b = w->b;

	cpa_batches_clear(b, batch);
	for (size_t i = 0; i < b->count * b->step; i++)
		batch[i / b->step] += w->weight[i] * difference(b, i, place, 0);
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

/* Of component @c, which has all values of its slot. @path: the weighted sum of all paths. */
static void add_component(const struct weighted *w, struct cpa_build *build,
			  struct cpa_component_figures *c, double path)
{
	const struct cpa_batches *b = w->b;
	size_t place = cpa_window_slot(b->slots, CPA_WINDOW_SHARE, c->slot);
	double end = (double)build->program.share[c->slot];
	double all = (double)build->program.len - (double)b->value[CPA_WINDOW_LEN];
	double in_windows = (end - (double)b->value[place]) / all;

	c->run_share = sum(w, place, end) / path;
	take_batches(w, place, b->part);
	take_batches(w, CPA_WINDOW_LEN, b->other);
	c->run_share_margin = cpa_batches_margin(b, b->part, b->other, 0);
	cpa_batches_take(b, place, w->unweighted);
	if (c->slot != CPA_SLOT_UNSAMPLED &&
	    fabs(c->run_share - in_windows) >
		    cpa_margin_between(b->part, b->other, w->unweighted, b->path, b->count))
		keep(&build->profile->uneven,
		     (struct cpa_uneven_share){ c, in_windows, c->run_share });
}

void cpa_evenness_find(struct cpa_build *build, const struct cpa_batches *b, const uint64_t *since)
{
	struct cpa_profile *profile = build->profile;
	struct weighted w = { b, xcalloc(b->samples + 1, sizeof(double)),
			      xcalloc(b->count + 1, sizeof(double)) };
	double path;

	profile->program.stands_for_s =
		build->tick_s * find_weights(&w, profile->program.wall_s / build->tick_s);
	path = sum(&w, CPA_WINDOW_LEN, (double)build->program.len);
	for (size_t i = 0; i < profile->components && path > 0; i++)
		if (since[profile->component[i].slot] == 0)
			add_component(&w, build, &profile->component[i], path);
	free(w.unweighted);
	free(w.weight);
}
