/* SPDX-License-Identifier: MIT */
/* analysis/metrics/histogram.c - metrics over time, from cumulative samples */
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/profile/curves.h"
#include "analysis/metrics/metrics.h"

static const struct cpa_thread_intervals *find_thread(const struct cpa_intervals *v, uint32_t row)
{
	for (size_t i = 0; i < v->threads; i++)
		if (v->thread[i].row == row)
			return &v->thread[i];
	return NULL;
}

struct cpa_metric_base cpa_metric_base_between(const struct cpa_profile *profile, uint32_t row,
					       size_t from, size_t to)
{
	const struct cpa_intervals *v = profile->intervals;
	const struct cpa_thread_intervals *thread = row ? find_thread(v, row) : NULL;
	struct cpa_metric_base base = cpa_metric_base_none();
	double grown[CPA_CURVES];

	if (row && !thread)
		return base;
	for (unsigned k = 0; k < CPA_CURVES; k++)
		grown[k] = thread ? cpa_curve(thread, k, to) - cpa_curve(thread, k, from) :
				    cpa_curves_sum(v, k, to) - cpa_curves_sum(v, k, from);
	base.cores = thread ? 1 : profile->program.cores;
	base.cpu = grown[CPA_CURVE_CPU];
	base.wait = grown[CPA_CURVE_WAIT];
	base.runqueue = grown[CPA_CURVE_RUNQUEUE];
	base.external = grown[CPA_CURVE_EXTERNAL];
	base.probe = grown[CPA_CURVE_PROBE];
	base.events = grown[CPA_CURVE_EVENTS];
	base.bytes = grown[CPA_CURVE_BYTES];
	base.time = v->sample[to].at_s - (from == SIZE_MAX ? 0 : v->sample[from].at_s);
	if (!thread)
		base.path = v->sample[to].critical_path_s -
			    (from == SIZE_MAX ? 0 : v->sample[from].critical_path_s);
	return base;
}

/* Whether the samples hold @metric at @level: for procedures only CPU time. */
static bool is_sampled(enum cpa_metric metric, enum cpa_metric_level level)
{
	bool grows = metric >= CPA_METRIC_TIME && metric != CPA_METRIC_CALLS;

	if (level == CPA_AT_PROCEDURE)
		return metric == CPA_METRIC_CPU;
	return level != CPA_AT_EVENT && grows && cpa_metric_about(metric)->at[level];
}

static double bin(const struct cpa_profile *profile, const struct cpa_histogram *h,
		  const struct cpa_metric_row *row, size_t i)
{
	double value[CPA_METRICS];
	struct cpa_metric_base base;

	base = cpa_metric_base_between(profile, h->level == CPA_AT_THREAD ? row->row : 0,
				       i ? i - 1 : SIZE_MAX, i);
	cpa_metrics_derive(&base, h->level, value);
	return value[h->metric];
}

static void fill_row(const struct cpa_profile *profile, const struct cpa_histogram *h,
		     const struct cpa_metric_row *row, double *value)
{
	if (h->level != CPA_AT_PROCEDURE) {
		for (size_t i = 0; i < h->bins; i++)
			value[i] = bin(profile, h, row, i);
		return;
	}
	if (!row->slot || !cpa_curves_slot(profile->intervals, row->slot, value)) {
		for (size_t i = 0; i < h->bins; i++)
			value[i] = NAN;
		return;
	}
	for (size_t i = h->bins; i-- > 1;)
		value[i] -= value[i - 1];
}

struct cpa_histogram *cpa_histogram_build(const struct cpa_profile *profile,
					  const struct cpa_metrics *metrics, enum cpa_metric metric,
					  enum cpa_metric_level level)
{
	const struct cpa_intervals *v = profile->intervals;
	struct cpa_histogram *h;
	double *until;

	/* Samples do not say which of several processes they belong to. */
	if (!is_sampled(metric, level) || (level == CPA_AT_PROCESS && metrics->rows[level] > 1))
		return NULL;
	h = xcalloc(1, sizeof(*h));
	until = xcalloc(v->samples + 1, sizeof(*until));
	*h = (struct cpa_histogram){
		.metric = metric,
		.level = level,
		.bins = v->samples,
		.period_s = v->period_s,
		.until_s = until,
		.rows = metrics->rows[level],
	};
	h->row = xcalloc(h->rows + 1, sizeof(const struct cpa_metric_row *));
	h->value = xcalloc(h->rows * h->bins + 1, sizeof(*h->value));
	for (size_t i = 0; i < h->bins; i++)
		until[i] = v->sample[i].at_s;
	for (size_t k = 0; k < h->rows; k++) {
		h->row[k] = &metrics->row[level][k];
		fill_row(profile, h, h->row[k], h->value + k * h->bins);
	}
	return h;
}

void cpa_histogram_free(struct cpa_histogram *h)
{
	if (!h)
		return;
	free((double *)(uintptr_t)h->until_s);
	free(h->row);
	free(h->value);
	free(h);
}
