/* SPDX-License-Identifier: MIT */
/* analysis/threads.c - threads, and the program's paths, which are those of its threads */
#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/build.h"
#include "analysis/printable.h"

#define READINGS 8u

/* One thread row, with both of its paths spread out. */
struct reading {
	struct cpa_thread row;
	struct cpa_vector path, retired;
	bool sound; /* both paths */
};

/*
 * Read @row. The versions of a running thread's paths may be used again while we read them: so
 * read until the paths are the same before and after. Return false if the row is not in use.
 */
static bool read_thread(struct cpa_dump *dump, uint32_t row, struct reading *reading)
{
	struct cpa_thread *thread = &reading->row;
	struct cpa_thread after;
	unsigned readings = 0;

	do {
		if (!cpa_dump_row(dump, CPA_TABLE_THREADS, row, thread, sizeof(*thread)))
			return false;
		reading->sound = cpa_vector_read(&reading->path, dump, &thread->path) &&
				 cpa_vector_read(&reading->retired, dump, &thread->retired);
		if (!dump->live)
			return true;
		if (!cpa_dump_row(dump, CPA_TABLE_THREADS, row, &after, sizeof(after)))
			return false;
		if (memcmp(&after.path, &thread->path, sizeof(after.path)) == 0 &&
		    memcmp(&after.retired, &thread->retired, sizeof(after.retired)) == 0)
			return true;
	} while (++readings < READINGS);
	dump->unsteady++;
	return true;
}

static void add_totals(struct cpa_build *build, const struct cpa_thread *thread)
{
	struct cpa_dump *dump = build->dump;
	uint64_t slots = thread->totals_slots;

	if (thread->totals == 0)
		return;
	if (slots > dump->header.slots)
		slots = dump->header.slots;
	for (uint64_t i = 0; i < slots; i++) {
		uint64_t value;

		if (!cpa_dump_bytes(dump, thread->totals + i * sizeof(value), &value,
				    sizeof(value))) {
			cpa_dump_skip(dump, CPA_TABLE_THREADS);
			return;
		}
		build->total[i] += value;
	}
}

static void add_edge_cache(struct cpa_build *build, const struct cpa_thread *thread)
{
	for (unsigned i = 0; i < CPA_EDGE_CACHE; i++) {
		const struct cpa_edge_cache *cache = &thread->edges[i];
		struct cpa_edge *edge;

		if (cache->edge == 0 || cache->edge > build->edges)
			continue;
		edge = &build->edge[cache->edge - 1];
		edge->count += cache->count;
		edge->weight += cache->weight;
		edge->followed += cache->followed;
		edge->followed_weight += cache->followed_weight;
		for (unsigned k = 0; k < CPA_MIX; k++)
			cpa_build_mix(edge, cache->mix[k]);
	}
}

/* The thread's CPU clock at its last event. */
static uint64_t cpu_ticks(const struct cpa_thread *thread)
{
	return thread->before + thread->process + thread->wait_cpu + thread->probe;
}

static void add_figures(struct cpa_build *build, const struct reading *reading)
{
	const struct cpa_thread *thread = &reading->row;
	struct cpa_profile *profile = build->profile;
	const struct cpa_place *start = cpa_names_component(build->names, thread->component);
	struct cpa_thread_figures *figures = &profile->thread[profile->threads++];

	*figures = (struct cpa_thread_figures){
		.id = thread->key,
		.state = thread->state,
		.node = thread->node,
		.tid = thread->tid,
		.earlier = thread->earlier,
		.name = cpa_printable(thread->name, sizeof(thread->name)),
		.start_routine = xstrdup(start->name ? start->name : "?"),
		.events = thread->events,
		.cpu_s = cpa_build_seconds(build, cpu_ticks(thread)),
		.wait_s = cpa_build_seconds(build, thread->wait),
		.external_s = cpa_build_seconds(build, thread->external),
		.runqueue_s = cpa_build_seconds(build, thread->runqueue),
		.probe_s = cpa_build_seconds(build, thread->probe),
		.critical_path_s = reading->sound ? cpa_build_seconds(build, reading->path.len) : 0,
	};
	profile->diagnostics.probe_s += figures->probe_s;
}

static void keep_row(struct cpa_build *build, uint32_t row, const struct cpa_thread *thread)
{
	const struct cpa_component *class = cpa_names_row(build->names, thread->component);

	build->thread[row - 1] = (struct cpa_build_thread){
		.id = thread->key,
		.tid = thread->tid,
		.slot = class && class->kind == CPA_THREAD ? class->slot : 0,
		.process = thread->process,
		.external = thread->external,
		.runqueue = thread->runqueue,
		.wait = thread->wait,
	};
}

/* Join the paths of @reading; of the observed paths keep that which ended the program. */
static void add_paths(struct cpa_build *build, uint32_t row, const struct reading *reading)
{
	const struct cpa_header *header = &build->dump->header;
	struct cpa_vector *program = &build->program;
	bool named = header->state != CPA_RUNNING && header->exit_thread != 0;
	bool last = named ? row == header->exit_thread : reading->path.released > program->released;

	cpa_vector_join(program, &reading->path);
	cpa_vector_join(program, &reading->retired);
	if (!last)
		return;
	program->released = reading->path.released;
	memcpy(program->kind, reading->path.kind, sizeof(program->kind));
	memcpy(program->observed, reading->path.observed,
	       program->slots * sizeof(*program->observed));
}

void cpa_build_threads(struct cpa_build *build)
{
	struct cpa_dump *dump = build->dump;
	uint32_t rows = dump->rows[CPA_TABLE_THREADS];
	struct reading *reading = xcalloc(1, sizeof(*reading));

	build->thread = xcalloc(rows + 1, sizeof(*build->thread));
	build->profile->thread = xcalloc(rows + 1, sizeof(*build->profile->thread));
	cpa_vector_init(&reading->path, dump->header.slots);
	cpa_vector_init(&reading->retired, dump->header.slots);
	for (uint32_t row = 1; row <= rows; row++) {
		const struct cpa_thread *thread = &reading->row;

		if (!read_thread(dump, row, reading))
			continue;
		if (thread->state > CPA_THREAD_DONE) {
			cpa_dump_skip(dump, CPA_TABLE_THREADS);
			continue;
		}
		if (reading->sound)
			add_paths(build, row, reading);
		else
			dump->broken_paths++;
		keep_row(build, row, thread);
		add_totals(build, thread);
		add_edge_cache(build, thread);
		build->cpu += cpu_ticks(thread);
		build->process += thread->process;
		build->external += thread->external;
		if (thread->state != CPA_THREAD_FREE)
			add_figures(build, reading);
	}
	cpa_vector_fini(&reading->path);
	cpa_vector_fini(&reading->retired);
	free(reading);
}
