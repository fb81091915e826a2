/* SPDX-License-Identifier: MIT */
#include "analysis/profile/curves.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/build.h"

_Static_assert(sizeof(struct cpa_thread_point) == (1 + CPA_CURVES) * sizeof(uint64_t) &&
		       offsetof(struct cpa_thread_point, process) == sizeof(uint64_t),
	       "a point is its clock, then a word for each curve");

/* Whether @curve is one of the sums that a thread's time consists of. */
static bool is_time(unsigned curve)
{
	return curve <= CPA_CURVE_PROBE;
}

static const uint64_t *sums(const struct cpa_thread_point *point)
{
	return &point->process;
}

static uint64_t grown(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

/* By how many ticks the times of @to are more than those of @from. */
static uint64_t grown_times(const struct cpa_thread_point *from, const struct cpa_thread_point *to)
{
	uint64_t all = 0;

	for (unsigned k = 0; k < CPA_CURVES; k++)
		if (is_time(k) &&
		    __builtin_add_overflow(all, grown(sums(from)[k], sums(to)[k]), &all))
			return UINT64_MAX;
	return all;
}

/* Ticks between @from and @to that are in the sums, which end at @to. */
static uint64_t accounted(const struct cpa_thread_point *from, const struct cpa_thread_point *to)
{
	uint64_t most = to->released - from->released, all = grown_times(from, to);

	return all < most ? all : most;
}

void cpa_curve_at(const struct cpa_thread_point *points, size_t count, uint64_t clock,
		  double value[CPA_CURVES])
{
	struct cpa_thread_point before = { 0 };

	for (unsigned k = 0; k < CPA_CURVES; k++)
		value[k] = 0;
	for (size_t i = 0; i < count && clock > before.released; i++) {
		const struct cpa_thread_point *p = &points[i];
		double share = 1;

		if (p->released <= before.released)
			continue;
		if (clock < p->released) {
			uint64_t long_for = accounted(&before, p);
			uint64_t begun = p->released - long_for;

			share = clock > begun ? (double)(clock - begun) / (double)long_for : 0;
		}
		for (unsigned k = 0; k < CPA_CURVES; k++)
			value[k] += share * (double)grown(sums(&before)[k], sums(p)[k]);
		before = *p;
	}
}

/*
 * Keep sums from shrinking (a wait was taken back), so that nothing counts twice when they grow
 * again.
 */
static void make_monotone(struct cpa_thread_point *points, size_t count)
{
	for (size_t i = count; i-- > 1;) {
		uint64_t *earlier = &points[i - 1].process;

		for (unsigned k = 0; k < CPA_CURVES; k++)
			if (earlier[k] > sums(&points[i])[k])
				earlier[k] = sums(&points[i])[k];
	}
}

/* The first of the @count points behind @i that is later than it; @count: none. */
static size_t find_later(const struct cpa_thread_point *points, size_t count, size_t i)
{
	size_t k = i + 1;

	while (k < count && points[k].released <= points[i].released)
		k++;
	return k;
}

/*
 * A point inside a wait may have all of it, as if it had ended at the event before: move such a
 * point to where its sums end, but not beyond the next one.
 */
static void move_early(struct cpa_thread_point *points, size_t count)
{
	struct cpa_thread_point before = { 0 };

	for (size_t i = 0; i < count; i++) {
		size_t later = find_later(points, count, i);
		uint64_t most = later < count ? points[later].released - 1 : UINT64_MAX, end;

		if (points[i].released <= before.released)
			continue;
		if (__builtin_add_overflow(before.released, grown_times(&before, &points[i]), &end))
			end = UINT64_MAX;
		end = end < most ? end : most;
		if (points[i].released < end)
			points[i].released = end;
		before = points[i];
	}
}

static void add_thread(struct cpa_intervals *v, const struct cpa_build *build,
		       const struct cpa_thread_series *row, const uint64_t *clock,
		       const uint32_t *place)
{
	struct cpa_thread_intervals *thread = &v->thread[v->threads++];
	const size_t before = v->samples - 1; /* index of the sample at the end of the run */
	struct cpa_thread_point *points = xcalloc(v->samples, sizeof(*points));
	double value[CPA_CURVES], *values = xcalloc(CPA_CURVES * v->samples, sizeof(*values));

	thread->row = (uint32_t)row->key;
	for (unsigned k = 0; k < CPA_CURVES; k++)
		thread->value[k] = values + k * v->samples;
	for (size_t i = 0; i < before; i++)
		points[i] = row->value[place[i]];
	points[before] = build->thread[row->key - 1].last;
	for (size_t i = 0; i <= before; i++)
		points[i].released = cpa_build_on(build, points[i].released);
	make_monotone(points, v->samples);
	move_early(points, v->samples);
	for (size_t i = 0; i <= before; i++) {
		cpa_curve_at(points, v->samples, i < before ? clock[i] : UINT64_MAX, value);
		for (unsigned k = 0; k < CPA_CURVES; k++)
			thread->value[k][i] = k < CPA_CURVE_EVENTS ? value[k] * build->tick_s :
								     value[k];
	}
	free(points);
}

/*
 * Spread the threads' sums over the samples, by row. Time that no sample has seen appears in the
 * last one.
 */
void cpa_curves_build(struct cpa_intervals *v, const struct cpa_build *build, const uint64_t *clock,
		      const uint32_t *place)
{
	uint32_t rows = build->dump->rows[CPA_TABLE_THREADS];
	struct cpa_thread_series *series = xcalloc(1, sizeof(*series));
	bool *seen = xcalloc((size_t)rows + 1, sizeof(*seen));

	v->thread = xcalloc((size_t)rows + 1, sizeof(*v->thread));
	for (uint32_t i = 1; i <= build->dump->rows[CPA_TABLE_POINTS]; i++) {
		if (!cpa_dump_row(build->dump, CPA_TABLE_POINTS, i, series, sizeof(*series)))
			continue;
		if (series->key > rows || seen[series->key] || !build->thread[series->key - 1].id) {
			cpa_dump_skip(build->dump, CPA_TABLE_POINTS);
			continue;
		}
		seen[series->key] = true;
		add_thread(v, build, series, clock, place);
	}
	for (uint32_t row = 1; row <= rows; row++) {
		if (seen[row] || !build->thread[row - 1].id)
			continue;
		memset(series, 0, sizeof(*series));
		series->key = row;
		add_thread(v, build, series, clock, place);
	}
	free(seen);
	free(series);
}

void cpa_curves_free(struct cpa_intervals *v)
{
	for (size_t i = 0; i < v->threads; i++)
		free(v->thread[i].value[0]);
	free(v->thread);
	v->thread = NULL;
	v->threads = 0;
}

double cpa_curves_sum(const struct cpa_intervals *v, enum cpa_curve curve, size_t i)
{
	double sum = 0;

	for (size_t t = 0; t < v->threads; t++)
		sum += cpa_curve(&v->thread[t], curve, i);
	return sum;
}

bool cpa_curves_slot(const struct cpa_intervals *v, uint32_t slot, double *total)
{
	const struct cpa_slot_intervals *s = cpa_intervals_slot(v, slot);
	double before = 0, had = 0;
	size_t k = 0;

	for (size_t i = 0; s && i < v->samples; i++) {
		double cpu = cpa_curves_sum(v, CPA_CURVE_CPU, i), share = 1;

		for (; k + 1 < v->samples && v->sample[k].process_s < cpu; k++) {
			before = v->sample[k].process_s;
			had = s->total_s[k];
		}
		if (cpu < v->sample[k].process_s)
			share = (cpu - before) / (v->sample[k].process_s - before);
		total[i] = had + fmax(share, 0) * (s->total_s[k] - had);
	}
	return s;
}
