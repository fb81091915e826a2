/* SPDX-License-Identifier: MIT */
/*
 * analysis/predict/predict_curves.c - reduce the heaviest components, alone and one after the other
 */
#include <libiberty/libiberty.h>
#include <stdlib.h>

#include "analysis/predict/predict_state.h"
#include "analysis/profile/components.h"

#define CURVES 10

/* Run time with the present factors. */
static int run_time(struct inquiry *q, double *run_s, char **error)
{
	struct cpa_changes changes = { .factor = q->factor,
				       .locks = q->locks,
				       .workers = q->workers };
	struct cpa_transcript *transcript = cpa_transcribe(q->run, &q->cast, &changes);
	struct cpa_replay_result result = { 0 };
	int ret = predict_replay(q, transcript, q->answer->row[0].cores, &result, error);

	cpa_transcript_free(transcript);
	*run_s = predict_seconds(q, result.ticks);
	return ret;
}

static int draw(struct inquiry *q, struct cpa_curve *curve, char **error)
{
	double factor = q->factor[curve->slot];
	int ret = 0;

	for (unsigned i = 0; i < CPA_CURVE_POINTS && ret == 0; i++) {
		q->factor[curve->slot] = factor * (CPA_CURVE_POINTS - 1 - i) / CPA_CURVE_POINTS;
		ret = run_time(q, &curve->run_s[i], error);
	}
	q->factor[curve->slot] = factor;
	return ret;
}

/*
 * Choose the components that zeroing saves most of. Threads are left out: "a thread did nothing" is
 * not a change to make.
 */
static void choose(struct inquiry *q)
{
	struct cpa_answer *answer = q->answer;

	answer->curve = XCNEWVEC(struct cpa_curve, CURVES);
	for (size_t i = 0; i < q->profile->components && answer->curves < CURVES; i++) {
		const struct cpa_component_figures *component = &q->profile->component[i];

		if (component->kind == CPA_THREAD || component->slot < CPA_SLOT_FIRST ||
		    component->slot >= q->cast.slots || component->total_s <= 0)
			continue;
		answer->curve[answer->curves++] = (struct cpa_curve){
			.kind = component->kind,
			.name = xstrdup(component->name),
			.slot = component->slot,
		};
	}
}

/*
 * Choose the component that shortens the run most if it costs nothing, and keep it at 0 for later
 * choices.
 */
static int take_next(struct inquiry *q, double *run_s, char **error)
{
	struct cpa_answer *answer = q->answer;
	size_t best = answer->curves;

	for (size_t i = 0; i < answer->curves; i++) {
		uint32_t slot = answer->curve[i].slot;
		double factor = q->factor[slot], without_s;

		if (factor == 0)
			continue;
		q->factor[slot] = 0;
		if (run_time(q, &without_s, error) < 0)
			return -1;
		q->factor[slot] = factor;
		if (without_s < *run_s) {
			*run_s = without_s;
			best = i;
		}
	}
	if (best == answer->curves)
		return 0;
	q->factor[answer->curve[best].slot] = 0;
	answer->next_curve[answer->next] = best;
	answer->next_s[answer->next++] = *run_s;
	return 0;
}

int predict_curves(struct inquiry *q, char **error)
{
	double run_s = q->answer->row[0].changed_s;
	int ret = 0;

	choose(q);
	for (size_t i = 0; i < q->answer->curves && ret == 0; i++)
		ret = draw(q, &q->answer->curve[i], error);
	for (unsigned i = 0; i < CPA_NEXT_CHANGES && ret == 0; i++)
		ret = take_next(q, &run_s, error);
	return ret;
}
