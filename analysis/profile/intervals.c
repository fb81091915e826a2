/* SPDX-License-Identifier: MIT */
/* analysis/profile/intervals.c - the share of each component in the critical path over time */
#include "analysis/profile/intervals.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/build.h"
#include "analysis/profile/curves.h"
#include "analysis/profile/threads.h"
#include "shadow/graph/series.h"

#define CHANGE	 0.1 /* of the path's growth; less is no change of path */
#define READINGS 4u

/* A sample boundary in the table, and the first whole sample from there on. */
struct found {
	uint64_t boundary;
	uint64_t sampled; /* boundary of the sample; 0: no sample */
	uint32_t place;
	uint64_t value[CPA_SERIES_FIELDS];
};

struct reading {
	const struct cpa_build *build;
	uint64_t offset; /* offset of the struct cpa_program_series in the file */
	uint32_t level;
	size_t count;
	struct found found[CPA_SAMPLES];
};

static uint64_t label_at(const struct reading *r, uint32_t place)
{
	uint64_t label = 0, at = r->offset + offsetof(struct cpa_program_series, label[place]);

	cpa_dump_bytes(r->build->dump, at, &label, sizeof(label));
	atomic_signal_fence(memory_order_seq_cst); /* x86 keeps loads in order */
	return label;
}

/* Find the samples of the present level; samples of earlier levels may still be in the table. */
static void find_samples(struct reading *r)
{
	const struct cpa_header *header = &r->build->dump->header;

	for (uint64_t j = 1; j < CPA_SAMPLES; j++) {
		uint64_t periods = j << r->level, boundary = header->first_period + periods;
		uint32_t place = cpa_series_place(periods, r->level);
		uint64_t at = r->offset + offsetof(struct cpa_program_series, value[place]);
		struct found *f = &r->found[j - 1];

		if (boundary * header->period >= r->build->end)
			break;
		*f = (struct found){ .boundary = boundary, .place = place };
		if (label_at(r, place) != cpa_sample_label(boundary, CPA_SAMPLE_DONE) ||
		    !cpa_dump_bytes(r->build->dump, at, f->value, sizeof(f->value)))
			continue;
		f->sampled = boundary;
		r->count = j;
	}
	for (size_t i = r->count; i-- > 1;) {
		uint64_t boundary = r->found[i - 1].boundary;

		if (r->found[i - 1].sampled)
			continue;
		r->found[i - 1] = r->found[i];
		r->found[i - 1].boundary = boundary;
	}
}

/*
 * Whether the series is the same as when reading began. A running program may drop samples and
 * reuse their places.
 */
static bool unchanged(const struct reading *r)
{
	atomic_signal_fence(memory_order_seq_cst); /* x86 keeps loads in order */
	for (size_t i = 0; i < r->count; i++)
		if (label_at(r, r->found[i].place) !=
		    cpa_sample_label(r->found[i].sampled, CPA_SAMPLE_DONE))
			return false;
	return true;
}

/* A cumulative value, limited to the value at the end of the run. */
static double at_most(const struct reading *r, uint64_t ticks, uint64_t most)
{
	return cpa_build_seconds(r->build, ticks < most ? ticks : most);
}

static struct cpa_interval_sample sample_of(const struct reading *r, const struct found *f)
{
	const struct cpa_header *header = &r->build->dump->header;
	const uint64_t *v = f->value;
	struct cpa_interval_sample s = {
		.at_s = cpa_build_seconds(r->build,
					  cpa_build_on(r->build, f->boundary * header->period)),
		.critical_path_s = at_most(r, v[CPA_SERIES_LEN], r->build->program.len),
		.cpu_s = at_most(r,
				 v[CPA_SERIES_BEFORE] + v[CPA_SERIES_PROCESS] +
					 v[CPA_SERIES_WAIT_CPU] + v[CPA_SERIES_PROBE],
				 r->build->cpu),
		.process_s = at_most(r, v[CPA_SERIES_PROCESS], r->build->process),
		.external_s = at_most(r, v[CPA_SERIES_EXTERNAL], r->build->external),
		.runqueue_s = at_most(r, v[CPA_SERIES_RUNQUEUE], UINT64_MAX),
		.wait_s = at_most(r, v[CPA_SERIES_WAIT], UINT64_MAX),
		.probe_s = at_most(r, v[CPA_SERIES_PROBE], UINT64_MAX),
		.events = v[CPA_SERIES_EVENTS],
	};

	for (unsigned k = 0; k < CPA_TIME_KINDS; k++)
		s.segment_s[k] = cpa_build_seconds(r->build, v[CPA_SERIES_OBSERVED + k]);
	return s;
}

static struct cpa_interval_sample last_sample(const struct cpa_build *build)
{
	const struct cpa_program_figures *program = &build->profile->program;
	struct cpa_interval_sample s = {
		.at_s = program->wall_s,
		.critical_path_s = program->critical_path_s,
		.cpu_s = program->cpu_s,
		.process_s = cpa_build_seconds(build, build->process),
		.external_s = program->external_s,
	};

	for (size_t i = 0; i < build->profile->threads; i++) {
		s.runqueue_s += build->profile->thread[i].runqueue_s;
		s.wait_s += build->profile->thread[i].wait_s;
		s.probe_s += build->profile->thread[i].probe_s;
		s.events += build->profile->thread[i].events;
	}
	memcpy(s.segment_s, program->segment_s, sizeof(s.segment_s));
	return s;
}

/* @row NULL: no sample has a value of the slot, only the end has. */
static void add_slot(struct cpa_intervals *v, const struct reading *r, uint32_t slot,
		     const struct cpa_slot_series *row)
{
	const struct cpa_build *build = r->build;
	struct cpa_slot_intervals *s = &v->slot[slot];
	double *values = xcalloc(4 * v->samples, sizeof(*values));

	*s = (struct cpa_slot_intervals){ values, values + v->samples, values + 2 * v->samples,
					  values + 3 * v->samples };
	for (size_t i = 0; row && i < r->count; i++) {
		uint32_t place = r->found[i].place;
		uint64_t len = r->found[i].value[CPA_SERIES_LEN];

		s->path_s[i] = at_most(r, row->value[place].share, len);
		s->saved_s[i] = at_most(r, row->value[place].slack, len);
		s->total_s[i] = at_most(r, row->value[place].total, build->total[slot]);
	}
	s->path_s[r->count] = cpa_build_seconds(build, build->program.share[slot]);
	s->saved_s[r->count] = cpa_build_seconds(build, build->program.slack[slot]);
	s->total_s[r->count] = cpa_build_seconds(build, build->total[slot]);
}

/* Whether the search moved the slot from one component to another: its samples then cover both. */
static bool has_former_owner(const struct cpa_build *build, uint32_t slot)
{
	return build->path_share[slot] != build->program.share[slot];
}

static void add_slots(struct cpa_intervals *v, const struct reading *r)
{
	const struct cpa_build *build = r->build;
	struct cpa_slot_series row;

	for (uint32_t i = 1; i <= build->dump->rows[CPA_TABLE_SERIES]; i++) {
		if (!cpa_dump_row(build->dump, CPA_TABLE_SERIES, i, &row, sizeof(row)))
			continue;
		if (row.key >= v->slots || v->slot[row.key].path_s)
			cpa_dump_skip(build->dump, CPA_TABLE_SERIES);
		else if (!has_former_owner(build, (uint32_t)row.key))
			add_slot(v, r, (uint32_t)row.key, &row);
	}
	for (uint32_t slot = 0; slot < v->slots; slot++)
		if (!v->slot[slot].path_s && !has_former_owner(build, slot) &&
		    (build->program.share[slot] || build->total[slot]))
			add_slot(v, r, slot, NULL);
}

/*
 * Mark intervals in which another path became the longest: a component's share shrank, or grew by
 * more than the path.
 */
static void mark_changes(struct cpa_intervals *v)
{
	for (size_t i = 1; i < v->samples; i++) {
		double grown = v->sample[i].critical_path_s - v->sample[i - 1].critical_path_s;
		double over = CHANGE * grown;

		for (uint32_t slot = 0; slot < v->slots; slot++) {
			const double *path = v->slot[slot].path_s;

			if (path &&
			    (path[i] < path[i - 1] - over || path[i] > path[i - 1] + grown + over))
				v->sample[i].path_changed = true;
		}
	}
}

/*
 * Find samples inside an activity longer than an interval, which have nothing of it yet. Set
 * `part`: the fraction of the growth up to the next sample that had happened by this one.
 */
static void find_parts(struct cpa_intervals *v)
{
	double later = v->sample[v->samples - 1].critical_path_s;

	for (size_t i = v->samples - 1; i-- > 0;) {
		const struct cpa_interval_sample *next = &v->sample[i + 1];
		double len = v->sample[i].critical_path_s, most;
		bool begins = next->critical_path_s <= len;
		bool goes_on = len <= (i ? v->sample[i - 1].critical_path_s : 0);

		most = fmax(len, later - fmax(next->at_s - v->sample[i].at_s, 0));
		if ((begins || goes_on) && later > len)
			v->sample[i].part = (most - len) / (later - len);
		later = most;
	}
	for (uint32_t slot = 0; slot < v->slots; slot++)
		if (v->slot[slot].path_s)
			memcpy(v->slot[slot].final_s, v->slot[slot].path_s,
			       v->samples * sizeof(*v->slot[slot].final_s));
}

static double raised(double value, double later, double between)
{
	return fmax(value, later - between);
}

static void raise_samples(struct cpa_intervals *v)
{
	for (size_t i = v->samples - 1; i-- > 0;) {
		double between = v->sample[i + 1].at_s - v->sample[i].at_s;
		double *len = &v->sample[i].critical_path_s;

		between = between > 0 ? between : 0;
		*len = raised(*len, v->sample[i + 1].critical_path_s, between);
		for (uint32_t slot = 0; slot < v->slots && !v->sample[i + 1].path_changed; slot++) {
			struct cpa_slot_intervals *s = &v->slot[slot];

			if (!s->path_s)
				continue;
			s->path_s[i] = raised(s->path_s[i], s->path_s[i + 1], between);
			s->saved_s[i] = raised(s->saved_s[i], s->saved_s[i + 1], between);
		}
	}
}

void cpa_intervals_trace(struct cpa_intervals *v)
{
	for (uint32_t slot = 0; slot < v->slots; slot++) {
		struct cpa_slot_intervals *s = &v->slot[slot];

		if (!s->path_s)
			continue;
		s->final_s[v->samples - 1] = s->path_s[v->samples - 1];
		for (size_t i = v->samples - 1; i-- > 0;) {
			double between = fmax(v->sample[i + 1].at_s - v->sample[i].at_s, 0);
			double later = s->final_s[i + 1], *final = &s->final_s[i];

			if (v->sample[i].part > 0)
				*final += v->sample[i].part * (later - *final);
			else
				*final = s->path_s[i];
			*final = fmin(fmax(*final, later - between), later);
		}
	}
}

static void add_threads(struct cpa_intervals *v, const struct reading *r)
{
	uint64_t clock[CPA_SAMPLES];
	uint32_t place[CPA_SAMPLES];

	for (size_t i = 0; i < r->count; i++) {
		clock[i] = cpa_build_on(r->build,
					r->found[i].boundary * r->build->dump->header.period);
		place[i] = r->found[i].place;
	}
	cpa_curves_build(v, r->build, clock, place);
}

static void free_slots(struct cpa_intervals *v)
{
	cpa_curves_free(v);
	for (uint32_t slot = 0; slot < v->slots; slot++)
		free(v->slot[slot].path_s);
	free(v->slot);
	free(v->sample);
}

/* Read the whole series. Return false if it changed meanwhile. */
static bool read_all(struct cpa_intervals *v, struct reading *r)
{
	r->count = 0;
	find_samples(r);
	v->samples = r->count ? r->count + 1 : 0;
	v->sample = xcalloc(v->samples + 1, sizeof(*v->sample));
	v->slot = xcalloc(v->slots, sizeof(*v->slot));
	if (r->count) {
		add_slots(v, r);
		add_threads(v, r);
	}
	return unchanged(r);
}

/* Whether the header's values are possible; a damaged header may hold any number. */
static bool plausible(const struct reading *r)
{
	const struct cpa_header *header = &r->build->dump->header;

	return r->offset && r->level < 32 && header->period && header->period < UINT64_C(1) << 40 &&
	       header->first_period <= r->build->end / header->period &&
	       (header->first_period + 1) * header->period >= header->start_ticks;
}

struct cpa_intervals *cpa_intervals_build(const struct cpa_build *build)
{
	const struct cpa_header *header = &build->dump->header;
	struct reading *r = xcalloc(1, sizeof(*r));
	struct cpa_intervals *v = xcalloc(1, sizeof(*v));
	unsigned readings = 0;

	r->build = build;
	r->offset = header->series;
	r->level = header->series_level;
	v->period_s = ldexp(cpa_build_seconds(build, header->period), (int)(r->level % 32));
	v->slots = header->slots;
	if (!plausible(r))
		v->slots = 0;
	while (v->slots && !read_all(v, r) && ++readings < READINGS)
		free_slots(v);
	if (readings == READINGS)
		v->slots = 0;
	for (size_t i = 0; i < r->count && v->slots; i++)
		v->sample[i] = sample_of(r, &r->found[i]);
	if (r->count && v->slots) {
		v->sample[r->count] = last_sample(build);
		mark_changes(v);
		find_parts(v);
		raise_samples(v);
		cpa_intervals_trace(v);
	}
	if (!v->slots)
		v->samples = 0;
	free(r);
	return v;
}

void cpa_intervals_free(struct cpa_intervals *v)
{
	if (v->slots)
		free_slots(v);
	free(v);
}

const struct cpa_slot_intervals *cpa_intervals_slot(const struct cpa_intervals *v, uint32_t slot)
{
	return slot < v->slots && v->slot[slot].path_s ? &v->slot[slot] : NULL;
}

double cpa_intervals_share(const struct cpa_intervals *v, uint32_t slot, size_t from, size_t to)
{
	const struct cpa_slot_intervals *s = cpa_intervals_slot(v, slot);
	bool first = from == SIZE_MAX;
	double grown, mine;

	if (!s)
		return 0;
	grown = v->sample[to].critical_path_s - (first ? 0 : v->sample[from].critical_path_s);
	mine = s->final_s[to] - (first ? 0 : s->final_s[from]);
	return grown > 0 ? fmin(fmax(mine / grown, 0), 1) : 0;
}
