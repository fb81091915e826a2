/* SPDX-License-Identifier: MIT */
/* analysis/profile/threads.c - threads, and the program's paths, which are those of its threads */
#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/build.h"
#include "analysis/profile/threads.h"
#include "analysis/util/printable.h"
#include "analysis/input/snapshot.h"

/* Keep @ticks in @slot if it is among the most. */
static void add_spend(const struct cpa_build *build, struct cpa_thread_figures *figures,
		      uint32_t slot, uint64_t ticks)
{
	double seconds = cpa_build_seconds(build, ticks);
	enum cpa_component_kind kind = build->slot_kind[slot];
	uint32_t at = figures->spends;

	if (ticks == 0 || (kind != CPA_FUNCTION && kind != CPA_EXTERNAL))
		return;
	while (at > 0 && figures->spend[at - 1].seconds < seconds)
		at--;
	if (at == CPA_SPENDS)
		return;
	if (figures->spends < CPA_SPENDS)
		figures->spends++;
	memmove(&figures->spend[at + 1], &figures->spend[at],
		(figures->spends - at - 1) * sizeof(*figures->spend));
	figures->spend[at] = (struct cpa_spend_figures){ slot, kind, seconds };
}

static void add_totals(struct cpa_build *build, const struct cpa_reading *reading,
		       struct cpa_thread_figures *figures)
{
	for (uint64_t i = 0; i < reading->totals; i++) {
		build->total[i] += reading->total[i];
		if (figures)
			add_spend(build, figures, (uint32_t)i, reading->total[i]);
	}
}

static void add_edge_cache(struct cpa_build *build, const struct cpa_reading *reading)
{
	for (unsigned i = 0; reading->edges && i < CPA_EDGE_CACHE; i++) {
		const struct cpa_edge_cache *cache = &reading->edge[i];
		struct cpa_edge *edge;

		if (cache->edge == 0 || cache->edge > build->edges)
			continue;
		edge = &build->edge[cache->edge - 1];
		edge->count += cache->count;
		edge->weight += cache->weight;
		edge->followed += cache->followed;
		edge->followed_weight += cache->followed_weight;
	}
}

/* Which kind of component each slot counts. */
static void find_kinds(struct cpa_build *build)
{
	build->slot_kind = xcalloc(build->dump->header.slots + 1, sizeof(*build->slot_kind));
	build->slot_kind[CPA_SLOT_UNSAMPLED] = CPA_FUNCTION;
	for (uint32_t i = 1; i <= build->names->components; i++) {
		const struct cpa_component *row = cpa_names_row(build->names, i);

		if (row)
			build->slot_kind[row->slot] = row->kind;
	}
}

/* Component of the start routine of component @component. */
static uint32_t routine_of(const struct cpa_build *build, uint32_t component)
{
	const struct cpa_component *row = cpa_names_row(build->names, component);

	return row && row->by == CPA_BY_ROLE ? (uint32_t)(row->address >> CPA_ROLE_BITS) :
					       component;
}

/* Whether the thread that has the row is in no part of the run: all sums are those of earlier ones. */
static bool is_sum_of_earlier(const struct cpa_thread *thread)
{
	return thread->earlier && !thread->path.released;
}

/* What all threads with sums in the row were: @was, and, if it is one of them, @is. 0: they differ. */
static uint32_t of_all(const struct cpa_thread *thread, uint32_t was, uint32_t is)
{
	if (is_sum_of_earlier(thread))
		is = was;
	/* A `was` of 0: nobody noted it. */
	return (thread->earlier && was && was != is) || is == UINT32_MAX ? 0 : is;
}

static bool is_of_classes(const struct cpa_thread *thread)
{
	return thread->earlier && thread->component &&
	       !of_all(thread, thread->was, thread->component);
}

static bool is_of_routines(const struct cpa_build *build, const struct cpa_thread *thread)
{
	uint32_t routine = routine_of(build, thread->component);

	return thread->earlier && routine && !of_all(thread, thread->was_routine, routine);
}

static uint32_t class_slot(const struct cpa_build *build, const struct cpa_thread *thread)
{
	const struct cpa_component *class =
		cpa_names_row(build->names, of_all(thread, thread->was, thread->component));

	return class && class->kind == CPA_THREAD ? class->slot : 0;
}

/* The name of the thread; of several that had the row, what they all had, or "". The caller frees it. */
static char *name_of(const struct cpa_build *build, const struct cpa_thread *thread)
{
	uint32_t component = of_all(thread, thread->was, thread->component);
	const struct cpa_component *row;
	char *name;

	if (!thread->earlier)
		return cpa_printable(thread->name, sizeof(thread->name));
	row = cpa_names_row(build->names, component);
	name = row && row->by == CPA_BY_ROLE ?
		       cpa_names_text(build->names,
				      row->address & ((UINT64_C(1) << CPA_ROLE_BITS) - 1)) :
		       NULL;
	return name ? name : xstrdup("");
}

static double between(const struct cpa_build *build, uint64_t from, uint64_t to)
{
	return from < to ? cpa_build_seconds(build, to - from) : 0;
}

/* The thread's CPU clock at its last event. */
static uint64_t cpu_ticks(const struct cpa_thread *thread)
{
	return thread->before + thread->process + thread->wait_cpu + thread->probe;
}

/*
 * CPU time of the thread from before the run. Before its first activity it cannot have had more of it in the
 * run than it took until then.
 */
static uint64_t early_ticks(const struct cpa_build *build, const struct cpa_thread *thread)
{
	uint64_t start = build->dump->header.start_ticks;
	uint64_t most = thread->start_ticks > start ? thread->start_ticks - start : 0;

	return thread->before > most ? thread->before - most : 0;
}

/* The locks that it held at its last event. */
static void add_held(const struct cpa_build *build, const struct cpa_thread *thread,
		     struct cpa_thread_figures *figures)
{
	for (uint32_t i = 0; i < thread->held_count && i < CPA_HELD_MAX; i++)
		if (thread->held_slot[i] < build->dump->header.slots)
			figures->held_slot[figures->holds++] = thread->held_slot[i];
}

/* The threads of a row that were in a part of the run, but for one. A clock of 0: the last of them was in none. */
static uint32_t earlier(const struct cpa_thread *thread)
{
	return is_sum_of_earlier(thread) ? thread->earlier - 1 : thread->earlier;
}

/* Whether a thread began and ended while profiling was off, and none before it in its row was in a part. */
static bool is_in_no_part(const struct cpa_thread *thread)
{
	return (thread->state == CPA_THREAD_EXITED || thread->state == CPA_THREAD_DONE) &&
	       !thread->path.released && !thread->earlier && !thread->events && !cpu_ticks(thread);
}

static struct cpa_thread_figures *add_figures(struct cpa_build *build, uint32_t row,
					      const struct cpa_reading *reading)
{
	const struct cpa_thread *thread = &reading->row;
	struct cpa_profile *profile = build->profile;
	uint32_t component = is_sum_of_earlier(thread) ? thread->was_routine : thread->component;
	const char *start = cpa_names_routine(build->names, component);
	const char *last = cpa_names_routine(build->names, thread->component);
	struct cpa_thread_figures *figures = &profile->thread[profile->threads++];

	*figures = (struct cpa_thread_figures){
		.id = thread->key,
		.state = thread->state,
		.row = row,
		.node = thread->node,
		.tid = thread->tid,
		.process = thread->process_key,
		.earlier = earlier(thread),
		.mixed = is_of_classes(thread),
		.name = name_of(build, thread),
		.start_routine = xstrdup(is_of_routines(build, thread) ? "(several)" :
					 start			       ? start :
									 "?"),
		.last_name = cpa_printable(thread->name, sizeof(thread->name)),
		.last_routine = xstrdup(last ? last : "?"),
		.events = thread->events,
		.cpu_s = cpa_build_seconds(build, cpu_ticks(thread)),
		.wait_s = cpa_build_seconds(build, thread->wait),
		.external_s = cpa_build_seconds(build, thread->external),
		.runqueue_s = cpa_build_seconds(build, thread->runqueue),
		.probe_s = cpa_build_seconds(build, thread->probe),
		.process_s = cpa_build_seconds(build, thread->process),
		.wait_cpu_s = cpa_build_seconds(build, thread->wait_cpu),
		.profiled_s = between(build, cpa_build_on(build, thread->start_ticks),
				      cpa_build_on(build, reading->path.released)),
		.bytes_read = thread->bytes_read,
		.bytes_written = thread->bytes_written,
		.critical_path_s = reading->sound ? cpa_build_seconds(build, reading->path.len) : 0,
		.slot = class_slot(build, thread),
		.begun_s = between(build, build->dump->header.start_ticks, thread->start_ticks),
		.lived_s = between(build, thread->start_ticks, reading->path.released),
	};
	add_held(build, thread, figures);
	profile->diagnostics.probe_s += figures->probe_s;
	return figures;
}

static void keep_row(struct cpa_build *build, uint32_t row, const struct cpa_thread *thread)
{
	build->thread[row - 1] = (struct cpa_build_thread){
		.id = thread->key,
		.tid = thread->tid,
		.slot = class_slot(build, thread),
		.process = thread->process,
		.external = thread->external,
		.runqueue = thread->runqueue,
		.wait = thread->wait,
		.last = { .released = thread->path.released,
			  .process = thread->process,
			  .external = thread->external,
			  .runqueue = thread->runqueue,
			  .wait = thread->wait,
			  .probe = thread->probe,
			  .events = thread->events,
			  .bytes = thread->bytes_read + thread->bytes_written },
	};
}

/* Begin with nothing, of @rows rows: the state read before could not be read to its end. */
static void begin(struct cpa_build *build, uint32_t rows)
{
	struct cpa_profile *profile = build->profile;

	for (size_t i = 0; i < profile->threads; i++) {
		free(profile->thread[i].name);
		free(profile->thread[i].start_routine);
		free(profile->thread[i].last_name);
		free(profile->thread[i].last_routine);
	}
	free(profile->thread);
	free(build->thread);
	profile->threads = 0;
	profile->thread = xcalloc((size_t)rows + 1, sizeof(*profile->thread));
	build->thread = xcalloc((size_t)rows + 1, sizeof(*build->thread));
	profile->diagnostics.probe_s = 0;
	build->dump->broken_paths = 0;
	memset(build->total, 0, build->dump->header.slots * sizeof(*build->total));
	memset(build->edge, 0, build->edges * sizeof(*build->edge));
	build->cpu = build->process = build->external = build->early = 0;
	cpa_vector_fini(&build->program);
	cpa_vector_init(&build->program, build->dump->header.slots);
	cpa_build_observed_begin(build);
}

static void add_thread(struct cpa_build *build, uint32_t row, const struct cpa_reading *reading)
{
	const struct cpa_thread *thread = &reading->row;
	struct cpa_thread_figures *figures = NULL;

	if (thread->state > CPA_THREAD_DONE) {
		cpa_dump_skip(build->dump, CPA_TABLE_THREADS);
		return;
	}
	if (reading->sound) {
		cpa_build_observed_add(build, row, reading);
		cpa_vector_join(&build->program, &reading->path);
		cpa_vector_join(&build->program, &reading->retired);
	} else {
		build->dump->broken_paths++;
	}
	keep_row(build, row, thread);
	add_edge_cache(build, reading);
	build->cpu += cpu_ticks(thread);
	build->early += early_ticks(build, thread);
	build->process += thread->process;
	build->external += thread->external;
	if (thread->state != CPA_THREAD_FREE && !is_in_no_part(thread))
		figures = add_figures(build, row, reading);
	add_totals(build, reading, figures);
}

void cpa_build_settle(struct cpa_thread *thread)
{
	uint64_t lived = thread->path.released - thread->start_ticks;
	uint64_t rest = thread->process + thread->external + thread->runqueue + thread->probe;

	if (thread->end_ticks || thread->path.released < thread->start_ticks || lived < rest)
		return;
	if (thread->wait > lived - rest)
		thread->wait = lived - rest;
	if (thread->wait_cpu > thread->wait)
		thread->wait_cpu = thread->wait;
}

void cpa_build_threads(struct cpa_build *build)
{
	struct cpa_dump *dump = build->dump;
	struct cpa_reading *reading = xcalloc(1, sizeof(*reading));
	struct cpa_snapshot snapshot;

	find_kinds(build);
	cpa_reading_init(reading, dump->header.slots);
	cpa_snapshot_begin(&snapshot, dump);
	do {
		begin(build, snapshot.rows);
		for (uint32_t row = 1; row <= snapshot.rows && !snapshot.failed; row++)
			if (cpa_snapshot_read(&snapshot, row, reading) && !snapshot.failed) {
				cpa_build_settle(&reading->row);
				add_thread(build, row, reading);
			}
	} while (cpa_snapshot_again(&snapshot));
	cpa_build_observed_end(build);
	build->torn = snapshot.torn;
	cpa_snapshot_end(&snapshot);
	cpa_reading_fini(reading);
	free(reading);
}
