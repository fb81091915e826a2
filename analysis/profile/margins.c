/* SPDX-License-Identifier: MIT */
#include "analysis/profile/margins.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/util/student.h"

#define READINGS 8u
#define TAIL	 0.025 /* on either side of the interval */

#define RIVAL 0.01 /* share of the critical path that a component must save to be compared */

/* The samples of the session, and their batches. */
struct batches {
	size_t length; /* of a sample */
	uint64_t *value;
	size_t count, step;
	double *path, *on, *part, *other; /* [count], ticks */
	/*
	 * [slots]: how long the path was when the slot's present component got it from others: its samples
	 * are of that component from then on. 0: always; UINT64_MAX: never.
	 */
	uint64_t *since;
	struct cpa_window_series head;
};

double cpa_margin(const double *a, const double *b, size_t count)
{
	double sum_a = 0, sum_b = 0, ratio, squares = 0, mean;

	for (size_t i = 0; i < count; i++) {
		sum_a += a[i];
		sum_b += b[i];
	}
	if (count < CPA_BATCHES_LEAST || !(sum_b > 0))
		return NAN;
	ratio = sum_a / sum_b;
	mean = sum_b / (double)count;
	for (size_t i = 0; i < count; i++)
		squares += (a[i] - ratio * b[i]) * (a[i] - ratio * b[i]);
	return cpa_student((double)(count - 1), TAIL) *
	       sqrt(squares / (double)(count - 1) / (double)count) / mean;
}

size_t cpa_margin_batches(size_t samples, size_t *step)
{
	size_t differences = samples ? samples - 1 : 0;

	*step = 1;
	while (differences / *step > CPA_BATCHES_MOST)
		*step *= 2;
	return differences / *step;
}

/* Read the head of the series at @at. Return false if there is none that is whole. */
static bool read_head(struct batches *b, const struct cpa_dump *dump, uint64_t at)
{
	b->length = cpa_window_length(dump->header.slots);
	return cpa_dump_bytes(dump, at, &b->head, sizeof(b->head)) && !(b->head.writing & 1) &&
	       b->head.slots == dump->header.slots && b->head.samples <= CPA_WINDOW_SAMPLES &&
	       b->head.level < 64;
}

/* Copy the samples. Return false if the series changed meanwhile. */
static bool read_once(struct batches *b, const struct cpa_dump *dump, uint64_t at)
{
	uint64_t size, now;

	if (!read_head(b, dump, at))
		return false;
	size = b->head.samples * b->length * sizeof(*b->value);
	free(b->value);
	b->value = xcalloc(b->head.samples * b->length + 1, sizeof(*b->value));
	atomic_signal_fence(memory_order_seq_cst); /* x86 keeps loads in order */
	if (!cpa_dump_bytes(dump, at + sizeof(b->head), b->value, size))
		return false;
	atomic_signal_fence(memory_order_seq_cst);
	return cpa_dump_bytes(dump, at, &now, sizeof(now)) && now == b->head.writing;
}

static bool read_series(struct batches *b, const struct cpa_dump *dump)
{
	uint64_t at = dump->header.windows;
	unsigned readings = 0;

	if (!at)
		return false;
	while (!read_once(b, dump, at))
		if (++readings == READINGS)
			return false;
	b->count = cpa_margin_batches(b->head.samples, &b->step);
	b->path = xcalloc(4 * (b->count + 1), sizeof(*b->path));
	b->on = b->path + b->count + 1;
	b->part = b->on + b->count + 1;
	b->other = b->part + b->count + 1;
	return true;
}

/* Add to @batch what each batch has of the value at @place of the samples, which only grows. */
static void add(const struct batches *b, size_t place, double *batch)
{
	for (size_t i = 0; i < b->count; i++) {
		const uint64_t *from = b->value + i * b->step * b->length + place;

		batch[i] += (double)from[b->step * b->length] - (double)from[0];
	}
}

static void take(const struct batches *b, size_t place, double *batch)
{
	memset(batch, 0, b->count * sizeof(*batch));
	add(b, place, batch);
}

static size_t place_of(const struct batches *b, enum cpa_window_vector vector, uint32_t slot)
{
	return cpa_window_slot(b->head.slots, vector, slot);
}

/* The same as cpa_margin(), but NAN also if no batch has any of @part: that may be rare. */
static double margin_of_any(const double *part, const double *whole, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (part[i] != 0)
			return cpa_margin(part, whole, count);
	return NAN;
}

/* The same of counters. One that was read while it changed shrinks: NAN. */
static double margin_of_counts(const struct batches *b, const double *part, const double *whole)
{
	for (size_t i = 0; i < b->count; i++)
		if (part[i] < 0 || whole[i] < 0)
			return NAN;
	return margin_of_any(part, whole, b->count);
}

/* The first batch that began when the path had a length of @len or more. */
static size_t first_batch(const struct batches *b, uint64_t len)
{
	size_t i = 0;

	while (i < b->count && b->value[i * b->step * b->length + CPA_WINDOW_LEN] < len)
		i++;
	return i;
}

/* Half of the interval of b->part's share of the critical path from where it was @since long. */
static double path_margin(const struct cpa_build *build, const struct batches *b, uint64_t since)
{
	size_t first = first_batch(b, since);
	double rest_s = build->profile->program.critical_path_s - cpa_build_seconds(build, since);

	return rest_s * margin_of_any(b->part + first, b->path + first, b->count - first);
}

/* What the search did to the slots: see b->since. */
static void find_since(const struct cpa_build *build, struct batches *b)
{
	b->since = xcalloc(b->head.slots, sizeof(*b->since));
	for (uint32_t slot = 0; slot < b->head.slots; slot++)
		if (build->path_share[slot] != build->program.share[slot])
			b->since[slot] = UINT64_MAX;
	for (uint32_t i = 1; i <= build->names->components; i++) {
		const struct cpa_component *row = cpa_names_row(build->names, i);

		if (row && row->since && !row->shared)
			b->since[row->slot] = row->since_len;
	}
}

/* Half of the intervals of what @slot has of the path, and saves, seconds. */
static void set_margins(const struct cpa_build *build, struct batches *b, uint32_t slot,
			double *path_s, double *saved_s)
{
	take(b, place_of(b, CPA_WINDOW_SHARE, slot), b->part);
	*path_s = path_margin(build, b, b->since[slot]);
	take(b, place_of(b, CPA_WINDOW_SLACK, slot), b->part);
	*saved_s = path_margin(build, b, b->since[slot]);
}

/* Half of the interval of what the classes at @end have of the path together, seconds. */
static double end_margin(const struct cpa_build *build, struct batches *b,
			 const struct cpa_stream_end *end)
{
	memset(b->part, 0, b->count * sizeof(*b->part));
	for (unsigned i = 0; i < CPA_STREAM_ENDS; i++) {
		if (!end->path_slot[i])
			continue;
		if (b->since[end->path_slot[i]])
			return NAN;
		add(b, place_of(b, CPA_WINDOW_SHARE, end->path_slot[i]), b->part);
	}
	return path_margin(build, b, 0);
}

/* Of whatever has slots: shares of the path, and savings. */
static void add_slots(const struct cpa_build *build, struct batches *b)
{
	struct cpa_profile *profile = build->profile;

	for (size_t i = 0; i < profile->components; i++) {
		struct cpa_component_figures *c = &profile->component[i];

		set_margins(build, b, c->slot, &c->critical_path_margin_s, &c->saved_margin_s);
	}
	for (size_t i = 0; i < profile->objects; i++) {
		struct cpa_object_figures *o = &profile->object[i];

		if (o->has_slot)
			set_margins(build, b, o->slot, &o->critical_path_margin_s,
				    &o->saved_margin_s);
	}
	for (size_t i = 0; i < profile->queues; i++) {
		struct cpa_queue_figures *q = &profile->queue[i];

		if (q->slot)
			set_margins(build, b, q->slot, &q->critical_path_margin_s,
				    &q->saved_margin_s);
	}
}

/* Add to @batch the service time of each batch. */
static void add_service(const struct cpa_build *build, const struct batches *b, double *batch)
{
	bool *seen = xcalloc(b->head.slots, sizeof(*seen));

	for (uint32_t i = 1; i <= build->names->components; i++) {
		const struct cpa_component *row = cpa_names_row(build->names, i);

		if (!row || row->kind != CPA_EXTERNAL || seen[row->slot] ||
		    cpa_external_class(row->address) != CPA_EXT_SERVICE)
			continue;
		seen[row->slot] = true; /* several kinds may share it */
		add(b, place_of(b, CPA_WINDOW_TOTAL, row->slot), batch);
	}
	free(seen);
}

static void add_program(const struct cpa_build *build, struct batches *b)
{
	struct cpa_program_figures *program = &build->profile->program;

	take(b, CPA_WINDOW_WAIT, b->part);
	program->wait_margin_s = program->wall_s * margin_of_any(b->part, b->on, b->count);
	take(b, CPA_WINDOW_PROCESS, b->part);
	program->parallelism_margin = margin_of_any(b->part, b->on, b->count);
	add_service(build, b, b->part);
	program->max_parallelism_margin = margin_of_any(b->part, b->path, b->count);
}

/* Half of the interval of ticks at @place, seconds, in relation to the time for which profiling was on. */
static double time_margin(const struct cpa_build *build, struct batches *b, size_t place)
{
	take(b, place, b->part);
	return build->profile->program.wall_s * margin_of_counts(b, b->part, b->on);
}

/* How many classes count at each slot. */
static uint32_t *count_classes(const struct cpa_build *build, const struct batches *b)
{
	uint32_t *classes = xcalloc(b->head.slots, sizeof(*classes));

	for (uint32_t i = 1; i <= build->names->components; i++) {
		const struct cpa_component *row = cpa_names_row(build->names, i);

		if (row && (row->kind == CPA_LOCK || row->kind == CPA_QUEUE) &&
		    row->first < b->head.slots)
			classes[row->first]++;
	}
	return classes;
}

/* The slot at which class @row counts alone; 0: none. */
static uint32_t own_slot(const struct cpa_build *build, const struct batches *b,
			 const uint32_t *classes, uint32_t row)
{
	const struct cpa_component *class = cpa_names_row(build->names, row);

	if (!class || class->first < CPA_SLOT_FIRST || class->first >= b->head.slots)
		return 0;
	return classes[class->first] == 1 ? class->first : 0;
}

static void add_classes(const struct cpa_build *build, struct batches *b)
{
	uint32_t *classes = count_classes(build, b), slot;

	for (size_t i = 0; i < build->profile->objects; i++) {
		struct cpa_object_figures *o = &build->profile->object[i];

		slot = own_slot(build, b, classes, o->row);
		if (!slot)
			continue;
		o->wait_margin_s = time_margin(build, b, place_of(b, CPA_WINDOW_WAITED, slot));
		o->hold_margin_s = time_margin(build, b, place_of(b, CPA_WINDOW_USED, slot));
	}
	for (size_t i = 0; i < build->profile->queues; i++) {
		struct cpa_queue_figures *q = &build->profile->queue[i];

		slot = own_slot(build, b, classes, q->row);
		if (!slot)
			continue;
		take(b, place_of(b, CPA_WINDOW_WAITED, slot), b->part);
		take(b, place_of(b, CPA_WINDOW_USED, slot), b->other);
		q->wait_margin_s = build->tick_s * margin_of_counts(b, b->part, b->other);
	}
	free(classes);
}

static void add_threads(const struct cpa_build *build, struct batches *b)
{
	uint32_t slots = b->head.slots;

	for (size_t i = 0; i < build->profile->threads; i++) {
		struct cpa_thread_figures *t = &build->profile->thread[i];

		if (t->row > CPA_WINDOW_ROWS)
			continue;
		t->cpu_margin_s =
			time_margin(build, b, cpa_window_row(slots, CPA_WINDOW_THREAD_CPU, t->row));
		t->wait_margin_s = time_margin(
			build, b, cpa_window_row(slots, CPA_WINDOW_THREAD_WAIT, t->row));
	}
}

/* Half of the interval of a value of all rows of the stream at @index; NAN: not all have it. */
static double stream_margin(const struct cpa_build *build, struct batches *b,
			    enum cpa_window_row value, size_t index)
{
	const struct cpa_profile *profile = build->profile;

	memset(b->part, 0, b->count * sizeof(*b->part));
	for (uint32_t row = 1; row <= profile->stream_rows; row++) {
		if (profile->stream_of[row - 1] != index + 1)
			continue;
		if (row > CPA_WINDOW_ROWS)
			return NAN;
		add(b, cpa_window_row(b->head.slots, value, row), b->part);
	}
	return profile->program.wall_s * margin_of_counts(b, b->part, b->on);
}

static void add_streams(const struct cpa_build *build, struct batches *b)
{
	for (size_t i = 0; i < build->profile->streams; i++) {
		struct cpa_stream_figures *s = &build->profile->stream[i];

		s->writer.critical_path_margin_s = end_margin(build, b, &s->writer);
		s->reader.critical_path_margin_s = end_margin(build, b, &s->reader);
		s->waited_margin_s = stream_margin(build, b, CPA_WINDOW_STREAM_WAITING, i);
		s->blocked_margin_s = stream_margin(build, b, CPA_WINDOW_STREAM_BLOCKING, i);
	}
}

/* Whether the savings of @x and @y differ by more than chance; *@windows: of how many they would. */
static bool are_apart(const struct cpa_build *build, struct batches *b,
		      const struct cpa_component_figures *x, const struct cpa_component_figures *y,
		      double *windows)
{
	double margin, ratio;

	take(b, place_of(b, CPA_WINDOW_SLACK, x->slot), b->part);
	take(b, place_of(b, CPA_WINDOW_SLACK, y->slot), b->other);
	for (size_t i = 0; i < b->count; i++)
		b->part[i] -= b->other[i];
	margin = path_margin(build, b, b->since[x->slot]);
	ratio = margin / (x->saved_s - y->saved_s);
	/* The margin shrinks with the square root of the number of windows. */
	*windows = ceil((double)b->head.windows * (ratio * ratio - 1));
	return !(ratio > 1);
}

/* Compare the component that saves most with the next one of its kind. */
static void find_rival(const struct cpa_build *build, struct batches *b)
{
	struct cpa_profile *profile = build->profile;
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
		if (b->since[first->slot] != b->since[c->slot])
			return;
		profile->rivals = (struct cpa_rivals){ .first = first, .second = c };
		if (are_apart(build, b, first, c, &profile->rivals.windows))
			profile->rivals = (struct cpa_rivals){ 0 };
		return;
	}
}

/* No margin is known. */
static void clear(struct cpa_profile *profile)
{
	struct cpa_program_figures *program = &profile->program;

	program->wait_margin_s = program->parallelism_margin = NAN;
	program->max_parallelism_margin = NAN;
	for (size_t i = 0; i < profile->components; i++)
		profile->component[i].critical_path_margin_s =
			profile->component[i].saved_margin_s = NAN;
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
	for (size_t i = 0; i < profile->streams; i++) {
		struct cpa_stream_figures *s = &profile->stream[i];

		s->writer.critical_path_margin_s = s->reader.critical_path_margin_s = NAN;
		s->waited_margin_s = s->blocked_margin_s = NAN;
	}
}

void cpa_build_margins(struct cpa_build *build)
{
	struct cpa_program_figures *program = &build->profile->program;
	struct batches b = { 0 };

	clear(build->profile);
	if (read_series(&b, build->dump)) {
		program->windows = b.head.windows;
		program->sampled = true;
		program->batches = b.count >= CPA_BATCHES_LEAST ? b.count : 0;
		take(&b, CPA_WINDOW_LEN, b.path);
		take(&b, CPA_WINDOW_ON, b.on);
		if (program->batches) {
			find_since(build, &b);
			add_slots(build, &b);
			add_classes(build, &b);
			add_threads(build, &b);
			add_streams(build, &b);
			add_program(build, &b);
			find_rival(build, &b);
		}
	}
	free(b.since);
	free(b.value);
	free(b.path);
}
