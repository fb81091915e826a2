/* SPDX-License-Identifier: MIT */
#include "analysis/metrics/phases.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/components.h"
#include "analysis/profile/curves.h"
#include "analysis/profile/parts.h"
#include "analysis/profile/threads.h"
#include "analysis/util/format.h"
#include "analysis/metrics/segment.h"

#define CLASSES	  8u	 /* thread classes, and functions, searched: most CPU */
#define FREQUENCY 1000.0 /* events a second; below it their rate is too coarse to use */

/* The metrics that are searched; each has a mean value per interval, in units of its range. */
struct curves {
	const struct cpa_intervals *v;
	size_t points;
	size_t *edge; /* [points + 1]: samples at the borders; SIZE_MAX: the start of the run */
	size_t count;
	double **curve;
};

const char *cpa_phase_by_name(enum cpa_phase_by by)
{
	static const char *const words[] = {
		[CPA_PHASE_FOUND] = "found", [CPA_PHASE_MARKED] = "marked", [CPA_PHASE_GIVEN] = "given"
	};

	return words[by];
}

static double at(const struct cpa_intervals *v, size_t i)
{
	return i == SIZE_MAX ? 0 : v->sample[i].at_s;
}

/*
 * Choose the intervals. Merge short ones with a neighbour: the last interval, and those that were
 * profiled only in part.
 */
static void find_edges(struct curves *c)
{
	const struct cpa_intervals *v = c->v;

	c->edge = xcalloc(v->samples + 1, sizeof(*c->edge));
	c->edge[0] = SIZE_MAX;
	for (size_t i = 0; i < v->samples; i++) {
		if (at(v, i) - at(v, c->edge[c->points]) >= v->period_s / 2)
			c->edge[++c->points] = i;
		else if (i + 1 == v->samples && c->points)
			c->edge[c->points] = i;
	}
}

/*
 * Add a metric with the cumulative values @sum[i] at sample i. Its range is at least @range a
 * second.
 */
static void add_curve(struct curves *c, const double *sum, double range)
{
	double *value = xcalloc(c->points + 1, sizeof(*value));

	for (size_t i = 0; i < c->points; i++) {
		size_t from = c->edge[i], to = c->edge[i + 1];
		double length = at(c->v, to) - at(c->v, from);

		if (length > 0)
			value[i] = (sum[to] - (from == SIZE_MAX ? 0 : sum[from])) / length;
		range = fmax(range, value[i]);
	}
	for (size_t i = 0; i < c->points; i++)
		value[i] /= range;
	c->curve = xrealloc(c->curve, (c->count + 1) * sizeof(*c->curve));
	c->curve[c->count++] = value;
}

static void add_program(struct curves *c)
{
	static const struct {
		enum cpa_curve curve;
		double range;
	} metrics[] = { { CPA_CURVE_CPU, 1 },
			{ CPA_CURVE_EXTERNAL, 1 },
			{ CPA_CURVE_RUNQUEUE, 1 },
			{ CPA_CURVE_WAIT, 1 },
			{ CPA_CURVE_EVENTS, FREQUENCY } };
	double *sum = xcalloc(c->v->samples + 1, sizeof(*sum));

	for (size_t m = 0; m < ARRAY_SIZE(metrics); m++) {
		for (size_t i = 0; i < c->v->samples; i++)
			sum[i] = cpa_curves_sum(c->v, metrics[m].curve, i);
		add_curve(c, sum, metrics[m].range);
	}
	free(sum);
}

/* Add the CPU time of the threads with one start routine. */
static void add_class(struct curves *c, const struct cpa_profile *profile, uint32_t slot)
{
	double *sum = xcalloc(c->v->samples + 1, sizeof(*sum));

	for (size_t t = 0; t < profile->threads; t++) {
		if (profile->thread[t].slot != slot)
			continue;
		for (size_t k = 0; k < c->v->threads; k++)
			for (size_t i = 0;
			     c->v->thread[k].row == profile->thread[t].row && i < c->v->samples;
			     i++)
				sum[i] += cpa_curve(&c->v->thread[k], CPA_CURVE_CPU, i);
	}
	add_curve(c, sum, 1);
	free(sum);
}

static int compare_totals(const void *a, const void *b)
{
	const struct cpa_component_figures *const *x = a, *const *y = b;

	if ((*x)->total_s != (*y)->total_s)
		return (*x)->total_s > (*y)->total_s ? -1 : 1;
	return strcmp((*x)->name, (*y)->name);
}

/* Add the components of @kind that have most CPU time. */
static void add_components(struct curves *c, const struct cpa_profile *profile,
			   enum cpa_component_kind kind)
{
	const struct cpa_component_figures **sorted =
		xcalloc(profile->components + 1, sizeof(const struct cpa_component_figures *));
	double *sum = xcalloc(c->v->samples + 1, sizeof(*sum));
	size_t count = 0;

	for (size_t i = 0; i < profile->components; i++)
		if (profile->component[i].kind == kind && profile->component[i].total_s > 0)
			sorted[count++] = &profile->component[i];
	qsort(sorted, count, sizeof(const struct cpa_component_figures *), compare_totals);
	for (size_t i = 0; i < count && i < CLASSES; i++) {
		if (kind == CPA_THREAD)
			add_class(c, profile, sorted[i]->slot);
		else if (cpa_curves_slot(c->v, sorted[i]->slot, sum))
			add_curve(c, sum, 1);
	}
	free(sum);
	free(sorted);
}

static void free_curves(struct curves *c)
{
	for (size_t m = 0; m < c->count; m++)
		free(c->curve[m]);
	free(c->curve);
	free(c->edge);
}

static struct cpa_phase *add_phase(struct cpa_phases *p, enum cpa_phase_by by, const char *name,
				   double from_s, double to_s)
{
	struct cpa_phase *phase;

	p->phase = xrealloc(p->phase, (p->count + 1) * sizeof(*p->phase));
	phase = &p->phase[p->count++];
	*phase = (struct cpa_phase){
		.by = by, .name = xstrdup(name), .from_s = from_s, .to_s = to_s
	};
	return phase;
}

static void find_phases(struct cpa_phases *p, const struct cpa_profile *profile, double step)
{
	struct curves c = { .v = profile->intervals };
	struct cpa_segments *s;

	find_edges(&c);
	add_program(&c);
	add_components(&c, profile, CPA_THREAD);
	add_components(&c, profile, CPA_FUNCTION);
	s = cpa_segments_find(&(struct cpa_segment_input){
		.points = c.points,
		.curves = c.count,
		.curve = (const double *const *)c.curve,
		.step = step,
	});
	p->step = s->step;
	p->window = s->window;
	p->curves = c.count;
	for (size_t m = 0; m < c.count; m++)
		p->left_out += s->left_out[m];
	for (size_t i = 0; s->count && i <= s->count; i++) {
		double from_s = i ? at(c.v, c.edge[s->at[i - 1]]) : 0;
		double to_s = i < s->count ? at(c.v, c.edge[s->at[i]]) : profile->program.wall_s;
		char *name = cpa_format_text("phase %zu", i + 1);

		add_phase(p, CPA_PHASE_FOUND, name, from_s, to_s);
		free(name);
	}
	p->found = p->count;
	cpa_segments_free(s);
	free_curves(&c);
}

/* Add a phase from each mark to the next; the time before the first mark is not a phase. */
static void add_marks(struct cpa_phases *p, const struct cpa_profile *profile)
{
	for (size_t i = 0; i < profile->marks; i++) {
		double to_s = i + 1 < profile->marks ? profile->mark[i + 1].at_s :
						       profile->program.wall_s;

		if (i == 0)
			add_phase(p, CPA_PHASE_MARKED, "(start)", 0, profile->mark[0].at_s);
		add_phase(p, CPA_PHASE_MARKED, profile->mark[i].name, profile->mark[i].at_s, to_s);
	}
}

/* The sample nearest to @at_s; the start of the run counts as one. */
static size_t nearest(const struct cpa_intervals *v, double at_s)
{
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < v->samples; i++)
		if (fabs(at(v, i) - at_s) < fabs(at(v, best) - at_s))
			best = i;
	return best;
}

static int compare_shares(const void *a, const void *b)
{
	const struct cpa_phase_share *x = a, *y = b;

	if (x->saved_s != y->saved_s)
		return x->saved_s > y->saved_s ? -1 : 1;
	if (x->path_s != y->path_s)
		return x->path_s > y->path_s ? -1 : 1;
	return x->component < y->component ? -1 : x->component > y->component;
}

static double grown(const double *value, const struct cpa_phase *phase)
{
	return value[phase->last] - (phase->first == SIZE_MAX ? 0 : value[phase->first]);
}

static void fill_shares(struct cpa_phase *phase, const struct cpa_profile *profile)
{
	phase->share = xcalloc(profile->components + 1, sizeof(*phase->share));
	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_slot_intervals *s =
			cpa_intervals_slot(profile->intervals, profile->component[i].slot);
		struct cpa_phase_share share = { .component = i };

		if (!s)
			continue;
		/* A share can shrink, by less than a change of path or because the path changed. */
		share.path_s = fmax(0, grown(s->path_s, phase));
		share.saved_s = grown(s->saved_s, phase);
		share.total_s = grown(s->total_s, phase);
		if (share.path_s != 0 || share.saved_s != 0 || share.total_s != 0)
			phase->share[phase->shares++] = share;
	}
	qsort(phase->share, phase->shares, sizeof(*phase->share), compare_shares);
}

static void fill(struct cpa_phase *phase, const struct cpa_profile *profile)
{
	const struct cpa_intervals *v = profile->intervals;
	struct cpa_metric_base base;

	phase->first = nearest(v, phase->from_s);
	phase->last = nearest(v, phase->to_s);
	phase->sampled_from_s = at(v, phase->first);
	phase->sampled_to_s = at(v, phase->last);
	phase->sampled = phase->sampled_to_s > phase->sampled_from_s;
	for (unsigned i = 0; i < CPA_METRICS; i++)
		phase->value[i] = NAN;
	if (!phase->sampled)
		return;
	base = cpa_metric_base_between(profile, 0, phase->first, phase->last);
	phase->path_s = base.path;
	cpa_metrics_derive(&base, CPA_AT_PROGRAM, phase->value);
	for (size_t i = phase->first + 1; i <= phase->last; i++)
		phase->path_changed |= v->sample[i].path_changed;
	fill_shares(phase, profile);
}

struct cpa_phases *cpa_phases_build(const struct cpa_profile *profile,
				    const struct cpa_phase_settings *settings)
{
	struct cpa_phases *p = xcalloc(1, sizeof(*p));

	p->interval_s = profile->intervals->period_s;
	p->step_given = settings->step > 0;
	if (profile->intervals->samples >= CPA_SEGMENT_FEWEST)
		find_phases(p, profile, settings->step);
	add_marks(p, profile);
	for (size_t i = 0; i < settings->ranges; i++)
		add_phase(p, CPA_PHASE_GIVEN, settings->range[i].name, settings->range[i].from_s,
			  fmin(settings->range[i].to_s, profile->program.wall_s));
	for (size_t i = 0; i < p->count; i++)
		fill(&p->phase[i], profile);
	return p;
}

void cpa_phases_free(struct cpa_phases *p)
{
	for (size_t i = 0; p && i < p->count; i++) {
		free(p->phase[i].name);
		free(p->phase[i].share);
	}
	if (p)
		free(p->phase);
	free(p);
}

/*
 * Read the seconds in @text up to @end. Return false if they are not a time; an empty text means
 * @empty.
 */
static bool parse_seconds(const char *text, const char *end, double empty, double *seconds)
{
	char *copy = xstrndup(text, (size_t)(end - text)), *behind;
	bool good;

	*seconds = strtod(copy, &behind);
	if (strcmp(behind, "ms") == 0)
		*seconds /= 1000;
	good = behind > copy && (!*behind || strcmp(behind, "s") == 0 || strcmp(behind, "ms") == 0);
	if (!*copy)
		*seconds = empty;
	good = !*copy || (good && isfinite(*seconds) && *seconds >= 0);
	free(copy);
	return good;
}

bool cpa_phase_parse(char *text, struct cpa_phase_range *range)
{
	char *equals = strchr(text, '='), *dots = equals ? strstr(equals, "..") : NULL;

	if (!dots || equals == text)
		return false;
	if (!parse_seconds(equals + 1, dots, 0, &range->from_s) ||
	    !parse_seconds(dots + 2, dots + strlen(dots), INFINITY, &range->to_s) ||
	    range->from_s >= range->to_s)
		return false;
	*equals = '\0';
	range->name = text;
	return true;
}
