/* SPDX-License-Identifier: MIT */
/* analysis/profile/margin_rows.c - the margins of a profile's figures; see margins.h */
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/profile/build.h"
#include "analysis/profile/components.h"
#include "analysis/profile/evenness.h"
#include "analysis/profile/lock_arrays.h"
#include "analysis/profile/margins.h"
#include "analysis/profile/objects.h"
#include "analysis/profile/processes.h"
#include "analysis/profile/queues.h"
#include "analysis/profile/streams.h"
#include "analysis/profile/threads.h"

#define RIVAL 0.01 /* share of the critical path that a component must save to be compared */

struct rows {
	const struct cpa_build *build;
	struct cpa_batches b;
	/*
	 * [slots]: how long the path was when the slot's present component got it from others: its
	 * samples are of that component from then on. 0: always; UINT64_MAX: never.
	 */
	uint64_t *since;
	uint32_t *classes; /* [slots]: classes of objects and queues that count there */
	/* Functions that samples found: their number of samples, those of the path, and their times. */
	double samples, path_samples;
	double functions_s, functions_path_s;
};

static size_t place_of(const struct rows *r, enum cpa_window_vector vector, uint32_t slot)
{
	return cpa_window_slot(r->b.slots, vector, slot);
}

/* Half of the interval of b.part's share of the critical path from where it was @since long. */
static double path_margin(const struct rows *r, uint64_t since)
{
	const struct cpa_batches *b = &r->b;
	double rest_s =
		r->build->profile->program.critical_path_s - cpa_build_seconds(r->build, since);

	return rest_s * cpa_batches_margin(b, b->part, b->path, cpa_batches_first(b, since));
}

/*
 * Half of the interval of ticks in b.part, seconds, in relation to the time for which profiling was
 * on.
 */
static double time_margin(const struct rows *r)
{
	const struct cpa_batches *b = &r->b;

	return r->build->profile->program.wall_s * cpa_batches_count_margin(b, b->part, b->on);
}

/*
 * time_margin() of a thread or process. NAN also if one batch has all of it: it may have lived no
 * longer than that, and others say nothing about it.
 */
static double life_margin(const struct rows *r)
{
	size_t lived = 0;

	for (size_t i = 0; i < r->b.count; i++)
		lived += r->b.part[i] != 0;
	return lived > 1 ? time_margin(r) : NAN;
}

/* What the search did to the slots: see r->since. */
static void find_since(struct rows *r)
{
	const struct cpa_build *build = r->build;
	uint32_t slots = r->b.slots;

	r->since = xcalloc(slots, sizeof(*r->since));
	for (uint32_t slot = 0; slot < slots; slot++)
		if (build->path_share[slot] != build->program.share[slot])
			r->since[slot] = UINT64_MAX;
	for (uint32_t i = 1; i <= build->names->components; i++) {
		const struct cpa_component *row = cpa_names_row(build->names, i);

		if (row && row->since && !row->shared)
			r->since[row->slot] = row->since_len;
	}
}

static void count_classes(struct rows *r)
{
	uint32_t slots = r->b.slots;

	r->classes = xcalloc(slots, sizeof(*r->classes));
	for (uint32_t i = 1; i <= r->build->names->components; i++) {
		const struct cpa_component *row = cpa_names_row(r->build->names, i);

		if (row && (row->kind == CPA_LOCK || row->kind == CPA_QUEUE) && row->first < slots)
			r->classes[row->first]++;
	}
}

/* Half of the intervals of what @slot has of the path, and saves, seconds. */
static void set_margins(struct rows *r, uint32_t slot, double *path_s, double *saved_s)
{
	cpa_batches_take(&r->b, place_of(r, CPA_WINDOW_SHARE, slot), r->b.part);
	*path_s = path_margin(r, r->since[slot]);
	cpa_batches_take(&r->b, place_of(r, CPA_WINDOW_SLACK, slot), r->b.part);
	*saved_s = path_margin(r, r->since[slot]);
}

/*
 * Half of the interval of the time of all threads in @slot, seconds. NAN also if the search moved
 * it: the time for which profiling was on before is not kept.
 */
static double total_margin(struct rows *r, uint32_t slot)
{
	if (r->since[slot] || r->build->moved[slot])
		return NAN;
	cpa_batches_take(&r->b, place_of(r, CPA_WINDOW_TOTAL, slot), r->b.part);
	return time_margin(r);
}

/* Whether samples found the time of @c. */
static bool is_sampled(const struct cpa_component_figures *c)
{
	return c->kind == CPA_FUNCTION && !c->calls && c->slot != CPA_SLOT_UNSAMPLED;
}

/* Of the samples, the path has as many as it has of the functions' time. */
static void count_samples(struct rows *r)
{
	const struct cpa_profile *profile = r->build->profile;

	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *c = &profile->component[i];

		if (!is_sampled(c))
			continue;
		r->functions_s += c->total_s;
		r->functions_path_s += c->critical_path_s;
	}
	r->samples = (double)r->build->dump->header.diag[CPA_DIAG_SAMPLES];
	if (r->functions_s > 0)
		r->path_samples = r->samples * fmin(1, r->functions_path_s / r->functions_s);
}

/* Half of the interval of what @c has of the path, by its samples alone, seconds. */
static double sampled_path_margin(const struct rows *r, const struct cpa_component_figures *c)
{
	double path_s = r->build->profile->program.critical_path_s, part, all_s;

	if (!is_sampled(c) || !(r->functions_path_s > 0))
		return 0;
	/* The part of the run that its figures are of. */
	part = 1 - cpa_build_seconds(r->build, r->since[c->slot]) / path_s;
	all_s = r->functions_path_s * part;
	return all_s *
	       cpa_margin_of_samples(fmin(1, c->critical_path_s / all_s), r->path_samples * part);
}

/* The same of what it saves: of a part of the path. */
static double sampled_saved_margin(const struct rows *r, const struct cpa_component_figures *c)
{
	return c->critical_path_s > 0 ?
		       sampled_path_margin(r, c) * c->saved_s / c->critical_path_s :
		       0;
}

/* Widen the margins of @c by the error of its samples. A margin that is not known stays so. */
static void widen(const struct rows *r, struct cpa_component_figures *c)
{
	c->critical_path_margin_s = hypot(c->critical_path_margin_s, sampled_path_margin(r, c));
	c->saved_margin_s = hypot(c->saved_margin_s, sampled_saved_margin(r, c));
	c->run_share_margin =
		hypot(c->run_share_margin,
		      sampled_path_margin(r, c) / r->build->profile->program.critical_path_s);
	if (is_sampled(c) && r->functions_s > 0)
		c->total_margin_s =
			hypot(c->total_margin_s,
			      r->functions_s * cpa_margin_of_samples(c->total_s / r->functions_s,
								     r->samples));
}

static void add_components(struct rows *r)
{
	struct cpa_profile *profile = r->build->profile;

	for (size_t i = 0; i < profile->components; i++) {
		struct cpa_component_figures *c = &profile->component[i];

		set_margins(r, c->slot, &c->critical_path_margin_s, &c->saved_margin_s);
		c->total_margin_s = total_margin(r, c->slot);
		if (r->since[c->slot] != UINT64_MAX)
			widen(r, c);
		if (c->has_whole)
			set_margins(r, c->whole_slot, &c->whole_critical_path_margin_s,
				    &c->whole_saved_margin_s);
	}
}

/*
 * Count at @members [slots] how many of the @count classes @row count at each slot. False: not all
 * do.
 */
static bool find_members(const struct rows *r, const uint32_t *row, size_t count, uint32_t *members)
{
	for (size_t i = 0; i < count; i++) {
		const struct cpa_component *class = cpa_names_row(r->build->names, row[i]);

		if (!class || class->first < CPA_SLOT_FIRST || class->first >= r->b.slots)
			return false;
		members[class->first]++;
	}
	return true;
}

/*
 * Set @batch to what the @count classes @row have of @vector together. False: that is not known, as
 * others count at their slots, too.
 */
static bool take_classes(const struct rows *r, const uint32_t *row, size_t count,
			 enum cpa_window_vector vector, double *batch)
{
	uint32_t *members = xcalloc(r->b.slots, sizeof(*members));
	bool known = find_members(r, row, count, members);

	cpa_batches_clear(&r->b, batch);
	for (uint32_t slot = 0; slot < r->b.slots && known; slot++) {
		if (!members[slot])
			continue;
		known = members[slot] == r->classes[slot];
		cpa_batches_add(&r->b, place_of(r, vector, slot), batch);
	}
	free(members);
	return known;
}

/* Half of the interval of a time of the @count classes @row of objects together, seconds. */
static double classes_margin(struct rows *r, const uint32_t *row, size_t count,
			     enum cpa_window_vector vector)
{
	return take_classes(r, row, count, vector, r->b.part) ? time_margin(r) : NAN;
}

static void add_objects(struct rows *r)
{
	for (size_t i = 0; i < r->build->profile->objects; i++) {
		struct cpa_object_figures *o = &r->build->profile->object[i];

		if (o->has_slot)
			set_margins(r, o->slot, &o->critical_path_margin_s, &o->saved_margin_s);
		o->wait_margin_s = classes_margin(r, &o->row, 1, CPA_WINDOW_WAITED);
		o->hold_margin_s = classes_margin(r, &o->row, 1, CPA_WINDOW_USED);
	}
}

static void add_lock_arrays(struct rows *r)
{
	for (size_t i = 0; i < r->build->profile->lock_arrays->arrays; i++) {
		struct cpa_lock_array *a = &r->build->profile->lock_arrays->array[i];

		a->wait_margin_s = classes_margin(r, a->row, a->locks, CPA_WINDOW_WAITED);
		a->hold_margin_s = classes_margin(r, a->row, a->locks, CPA_WINDOW_USED);
	}
}

static void add_queues(struct rows *r)
{
	struct cpa_batches *b = &r->b;

	for (size_t i = 0; i < r->build->profile->queues; i++) {
		struct cpa_queue_figures *q = &r->build->profile->queue[i];

		if (q->slot)
			set_margins(r, q->slot, &q->critical_path_margin_s, &q->saved_margin_s);
		if (take_classes(r, &q->row, 1, CPA_WINDOW_WAITED, b->part) &&
		    take_classes(r, &q->row, 1, CPA_WINDOW_USED, b->other))
			q->wait_margin_s =
				r->build->tick_s * cpa_batches_count_margin(b, b->part, b->other);
	}
}

static void add_threads(struct rows *r)
{
	uint32_t slots = r->b.slots;

	for (size_t i = 0; i < r->build->profile->threads; i++) {
		struct cpa_thread_figures *t = &r->build->profile->thread[i];

		if (t->row > CPA_WINDOW_ROWS)
			continue;
		cpa_batches_take(&r->b, cpa_window_row(slots, CPA_WINDOW_THREAD_CPU, t->row),
				 r->b.part);
		t->cpu_margin_s = life_margin(r);
		cpa_batches_take(&r->b, cpa_window_row(slots, CPA_WINDOW_THREAD_WAIT, t->row),
				 r->b.part);
		t->wait_margin_s = life_margin(r);
	}
}

/*
 * Half of the confidence interval of the sum of @value over rows 1 to @rows: those with
 * of[row - 1] == @index + 1, or all if @of is NULL. NAN: not known for each of these rows.
 */
static double rows_margin(struct rows *r, enum cpa_window_row value, const uint32_t *of,
			  size_t rows, size_t index)
{
	cpa_batches_clear(&r->b, r->b.part);
	for (uint32_t row = 1; row <= rows; row++) {
		if (of && of[row - 1] != index + 1)
			continue;
		if (row > CPA_WINDOW_ROWS)
			return NAN;
		cpa_batches_add(&r->b, cpa_window_row(r->b.slots, value, row), r->b.part);
	}
	return of ? life_margin(r) : time_margin(r);
}

static void add_processes(struct rows *r)
{
	const struct cpa_build *build = r->build;
	uint32_t rows = build->dump->rows[CPA_TABLE_THREADS];

	for (size_t i = 0; i < build->profile->processes; i++) {
		struct cpa_process_figures *p = &build->profile->process[i];

		if (!p->has_rows)
			continue;
		p->cpu_margin_s = rows_margin(r, CPA_WINDOW_THREAD_CPU, build->process_of, rows, i);
		p->wait_margin_s =
			rows_margin(r, CPA_WINDOW_THREAD_WAIT, build->process_of, rows, i);
	}
}

/* Half of the interval of what the classes at @end have of the path together, seconds. */
static double end_margin(struct rows *r, const struct cpa_stream_end *end)
{
	cpa_batches_clear(&r->b, r->b.part);
	for (unsigned i = 0; i < CPA_STREAM_ENDS; i++) {
		uint32_t slot = end->path_slot[i];

		if (!slot)
			continue;
		if (r->since[slot])
			return NAN;
		cpa_batches_add(&r->b, place_of(r, CPA_WINDOW_SHARE, slot), r->b.part);
	}
	return path_margin(r, 0);
}

static void add_streams(struct rows *r)
{
	const struct cpa_profile *profile = r->build->profile;

	for (size_t i = 0; i < profile->streams; i++) {
		struct cpa_stream_figures *s = &profile->stream[i];

		s->writer.critical_path_margin_s = end_margin(r, &s->writer);
		s->reader.critical_path_margin_s = end_margin(r, &s->reader);
		s->waited_margin_s = rows_margin(r, CPA_WINDOW_STREAM_WAITING, profile->stream_of,
						 profile->stream_rows, i);
		s->blocked_margin_s = rows_margin(r, CPA_WINDOW_STREAM_BLOCKING, profile->stream_of,
						  profile->stream_rows, i);
	}
}

/* Add to b.part the external time of @class of each batch. False: a slot had other time before. */
static bool add_external(struct rows *r, enum cpa_external_class class)
{
	bool *seen = xcalloc(r->b.slots, sizeof(*seen)), known = true;

	for (uint32_t i = 1; i <= r->build->names->components; i++) {
		const struct cpa_component *row = cpa_names_row(r->build->names, i);

		if (!row || row->kind != CPA_EXTERNAL || seen[row->slot] ||
		    cpa_external_class(row->address) != class)
			continue;
		seen[row->slot] = true; /* several kinds may share it */
		known &= !r->build->moved[row->slot];
		cpa_batches_add(&r->b, place_of(r, CPA_WINDOW_TOTAL, row->slot), r->b.part);
	}
	free(seen);
	return known;
}

/* Half of the interval of the external time of @class, seconds. */
static double external_margin(struct rows *r, enum cpa_external_class class)
{
	cpa_batches_clear(&r->b, r->b.part);
	return add_external(r, class) ? time_margin(r) : NAN;
}

static void add_parallelism(struct rows *r)
{
	struct cpa_program_figures *program = &r->build->profile->program;
	struct cpa_batches *b = &r->b;

	cpa_batches_take(b, CPA_WINDOW_PROCESS, b->part);
	program->parallelism_margin = cpa_batches_margin(b, b->part, b->on, 0);
	if (add_external(r, CPA_EXT_SERVICE))
		program->max_parallelism_margin = cpa_batches_margin(b, b->part, b->path, 0);
}

static void add_program(struct rows *r)
{
	struct cpa_program_figures *program = &r->build->profile->program;
	struct cpa_batches *b = &r->b;
	uint32_t threads = r->build->dump->rows[CPA_TABLE_THREADS];

	cpa_batches_take(b, CPA_WINDOW_WAIT, b->part);
	program->wait_margin_s = time_margin(r);
	program->critical_path_margin_s =
		program->wall_s * cpa_batches_margin(b, b->path, b->on, 0);
	program->cpu_margin_s = rows_margin(r, CPA_WINDOW_THREAD_CPU, NULL, threads, 0);
	/* Else a batch has CPU time from before the run, which does not count here. */
	if (!r->build->early && program->cores)
		program->utilization_margin =
			program->cpu_margin_s / program->wall_s / program->cores;
	program->blocked_margin_s[CPA_EXT_SERVICE] = external_margin(r, CPA_EXT_SERVICE);
	program->blocked_margin_s[CPA_EXT_IDLE] = external_margin(r, CPA_EXT_IDLE);
	add_parallelism(r);
}

/*
 * Whether the savings of @x and @y differ by more than chance; *@windows: of how many they would.
 */
static bool are_apart(struct rows *r, const struct cpa_component_figures *x,
		      const struct cpa_component_figures *y, double *windows)
{
	struct cpa_batches *b = &r->b;
	double margin, ratio;

	cpa_batches_take(b, place_of(r, CPA_WINDOW_SLACK, x->slot), b->part);
	cpa_batches_take(b, place_of(r, CPA_WINDOW_SLACK, y->slot), b->other);
	for (size_t i = 0; i < b->count; i++)
		b->part[i] -= b->other[i];
	margin = hypot(path_margin(r, r->since[x->slot]),
		       hypot(sampled_saved_margin(r, x), sampled_saved_margin(r, y)));
	ratio = margin / (x->saved_s - y->saved_s);
	/* The margin shrinks with the square root of the number of windows, and of samples. */
	*windows = ceil((double)b->windows * (ratio * ratio - 1));
	return !(ratio > 1);
}

/* Compare the component that saves most with the next one of its kind. */
static void find_rival(struct rows *r)
{
	struct cpa_profile *profile = r->build->profile;
	const struct cpa_component_figures *first = NULL;

	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *c = &profile->component[i];
		bool fits = c->kind != CPA_EXTERNAL && c->slot >= CPA_SLOT_FIRST &&
			    !isnan(c->saved_margin_s) &&
			    c->saved_s > RIVAL * profile->program.critical_path_s;

		if (!fits || (first && c->kind != first->kind))
			continue;
		if (!first) {
			first = c;
			continue;
		}
		/* Savings of different times are not compared. */
		if (r->since[first->slot] != r->since[c->slot])
			return;
		profile->rivals = (struct cpa_rivals){ .first = first, .second = c };
		if (are_apart(r, first, c, &profile->rivals.windows))
			profile->rivals = (struct cpa_rivals){ 0 };
		return;
	}
}

void cpa_margins_clear(struct cpa_profile *profile)
{
	struct cpa_program_figures *program = &profile->program;

	program->wait_margin_s = program->parallelism_margin = NAN;
	program->max_parallelism_margin = program->cpu_margin_s = NAN;
	program->critical_path_margin_s = program->utilization_margin = NAN;
	for (unsigned i = 0; i < CPA_EXT_CLASSES; i++)
		program->blocked_margin_s[i] = NAN;
	for (size_t i = 0; i < profile->components; i++) {
		struct cpa_component_figures *c = &profile->component[i];

		c->total_margin_s = c->critical_path_margin_s = c->saved_margin_s = NAN;
		c->run_share = c->run_share_margin = NAN;
		c->whole_saved_margin_s = c->whole_critical_path_margin_s = NAN;
	}
	for (size_t i = 0; i < profile->objects; i++) {
		struct cpa_object_figures *o = &profile->object[i];

		o->critical_path_margin_s = o->saved_margin_s = NAN;
		o->wait_margin_s = o->hold_margin_s = NAN;
	}
	for (size_t i = 0; i < profile->queues; i++) {
		struct cpa_queue_figures *q = &profile->queue[i];

		q->critical_path_margin_s = q->saved_margin_s = q->wait_margin_s = NAN;
	}
	for (size_t i = 0; i < profile->threads; i++)
		profile->thread[i].cpu_margin_s = profile->thread[i].wait_margin_s = NAN;
	for (size_t i = 0; i < profile->processes; i++)
		profile->process[i].cpu_margin_s = profile->process[i].wait_margin_s = NAN;
	for (size_t i = 0; i < profile->streams; i++) {
		struct cpa_stream_figures *s = &profile->stream[i];

		s->writer.critical_path_margin_s = s->reader.critical_path_margin_s = NAN;
		s->waited_margin_s = s->blocked_margin_s = NAN;
	}
}

static void add_margins(struct rows *r)
{
	count_classes(r);
	count_samples(r);
	add_components(r);
	add_objects(r);
	add_lock_arrays(r);
	add_queues(r);
	add_threads(r);
	add_processes(r);
	add_streams(r);
	add_program(r);
	find_rival(r);
	free(r->classes);
}

void cpa_build_margins(struct cpa_build *build)
{
	struct cpa_program_figures *program = &build->profile->program;
	struct rows r = { .build = build };

	cpa_margins_clear(build->profile);
	if (cpa_batches_read(&r.b, build->dump)) {
		program->windows = r.b.windows;
		program->sampled = true;
		program->batches = r.b.count >= CPA_BATCHES_LEAST ? r.b.count : 0;
		find_since(&r);
		cpa_evenness_find(build, &r.b, r.since);
		if (program->batches)
			add_margins(&r);
		free(r.since);
	}
	cpa_batches_free(&r.b);
}
