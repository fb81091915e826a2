/* SPDX-License-Identifier: MIT */
/* analysis/profile/profile.c - the program's figures, and the order of the other stages */
#include "analysis/profile/profile.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analysis/profile/build.h"
#include "analysis/profile/components.h"
#include "analysis/profile/contexts.h"
#include "analysis/util/format.h"
#include "analysis/profile/intervals.h"
#include "analysis/profile/lock_arrays.h"
#include "analysis/profile/objects.h"
#include "analysis/profile/pag.h"
#include "analysis/profile/parts.h"
#include "analysis/profile/processes.h"
#include "analysis/profile/queues.h"
#include "analysis/profile/streams.h"
#include "analysis/profile/threads.h"
#include "analysis/util/printable.h"

void cpa_profile_note(struct cpa_profile *profile, const char *format, ...)
{
	struct cpa_diagnostics_figures *diagnostics = &profile->diagnostics;
	va_list args;

	va_start(args, format);
	diagnostics->note =
		xrealloc(diagnostics->note, (diagnostics->notes + 1) * sizeof(*diagnostics->note));
	diagnostics->note[diagnostics->notes++] = cpa_format_args(format, args);
	va_end(args);
}

const struct cpa_node_figures *cpa_profile_node(const struct cpa_profile *profile, uint32_t id)
{
	size_t low = 0, high = profile->nodes;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (profile->node[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < profile->nodes && profile->node[low].id == id ? &profile->node[low] : NULL;
}

const struct cpa_component_figures *cpa_profile_component(const struct cpa_profile *profile,
							  uint32_t slot,
							  enum cpa_component_kind kind)
{
	for (size_t i = 0; i < profile->components; i++)
		if (slot != 0 && profile->component[i].slot == slot &&
		    profile->component[i].kind == kind)
			return &profile->component[i];
	return NULL;
}

bool cpa_is_same_function(const struct cpa_component_figures *a,
			  const struct cpa_component_figures *b)
{
	return a == b || (a && b && a->part && b->part && (a->module || a->offset) &&
			  a->module == b->module && a->offset == b->offset);
}

/* Seconds per tick of the time stamp counter, from the two points that the writer recorded. */
static double tick_length(const struct cpa_header *header, struct cpa_profile *profile)
{
	double ticks = (double)header->last_ticks - (double)header->start_ticks;
	double nanoseconds = (double)header->last_ns - (double)header->start_ns;

	/* Counters run at 0.1 to 10 GHz. */
	if (ticks > 0 && nanoseconds / ticks > 0.1 && nanoseconds / ticks < 10)
		return nanoseconds / ticks * 1e-9;
	cpa_profile_note(profile, "The rate of the clock is not known: all times assume 1 GHz.");
	return 1e-9;
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

/* The observed path must be as long as the wall time: it is one unbroken chain of activities. */
static void check_tiles(struct cpa_profile *profile)
{
	struct cpa_program_figures *program = &profile->program;
	double missing = program->wall_s - program->observed_path_s;

	if (fabs(missing) > 1e-3 && fabs(missing) > program->wall_s / 1000)
		cpa_profile_note(
			profile,
			"The observed path is %.6f s %s than the run: read its shares as shares "
			"of the path, not of the run.",
			fabs(missing), missing > 0 ? "shorter" : "longer");
}

/* The clock at the end of the run, or at the last known event. */
static uint64_t find_end(const struct cpa_build *build)
{
	const struct cpa_header *header = &build->dump->header;
	uint64_t end = header->state == CPA_RUNNING ? 0 : header->end_ticks;
	uint64_t observed = header->start_ticks;

	if (header->epoch && !cpa_epoch_is_on(header->epoch))
		return cpa_epoch_begun(header, header->epoch);
	if (end >= header->start_ticks)
		return end;
	/*
	 * A thread that died in the middle of an event has its times but not yet the event's clock.
	 */
	end = build->program.released > observed ? build->program.released : observed;
	for (uint32_t i = 0; i < CPA_TIME_KINDS; i++)
		if (__builtin_add_overflow(observed, build->program.kind[i], &observed))
			return end;
	return observed > end ? observed : end;
}

/* Add the exit status and name of the first process, from its own row and from its parent. */
static void add_first_process(struct cpa_profile *profile)
{
	const struct cpa_process_figures *first = profile->process;
	struct cpa_program_figures *program = &profile->program;
	bool known = profile->processes && !first->parent && first->pid == program->pid;

	/* A process without a recorded name gets the name of its file. */
	program->name = xstrdup(known && strcmp(first->name, "?") != 0 ?
					first->name :
					cpa_printable_base(program->exe));
	if (!known)
		return;
	program->waited = first->waited;
	program->status = first->status;
	program->end_s = first->end_s;
}

static void build_program(struct cpa_build *build)
{
	const struct cpa_header *header = &build->dump->header;
	struct cpa_program_figures *program = &build->profile->program;
	uint64_t end = find_end(build), wall;

	build->end = end;
	wall = cpa_epoch_on(header, end);
	program->exe = cpa_printable(header->exe, sizeof(header->exe));
	program->host = cpa_printable(header->host, sizeof(header->host));
	program->started_at = (time_t)(header->start_real_ns / 1000000000);
	program->pid = header->pid;
	add_first_process(build->profile);
	program->state = header->state;
	program->complete = header->state == CPA_COMPLETE;
	program->left_by_handler = header->state == CPA_RUNNING && program->waited &&
				   WIFEXITED(program->status) && header->diag[CPA_DIAG_NESTED];
	program->journal = header->journal != 0;
	program->copied = header->copied != CPA_COPY_NONE;
	program->cores = header->cores;
	program->format = header->format;
	program->sample_hz = header->sample_hz;
	program->by_callers = header->by_callers;
	program->wall_s = cpa_build_seconds(build, wall);
	for (size_t i = 0; i < build->profile->threads; i++) {
		program->wait_s += build->profile->thread[i].wait_s;
		program->wait_cpu_s += build->profile->thread[i].wait_cpu_s;
		program->threads += 1 + build->profile->thread[i].earlier;
	}
	program->cpu_s = cpa_build_seconds(build, build->cpu);
	program->external_s = cpa_build_seconds(build, build->external);
	program->critical_path_s = cpa_build_seconds(build, build->program.len);
	for (uint32_t i = 0; i < CPA_TIME_KINDS; i++) {
		program->segment_s[i] = cpa_build_seconds(build, build->program.kind[i]);
		program->observed_path_s += program->segment_s[i];
	}
	/* At a stop perhaps no thread was working; shadow/edge/part.c explains such paths. */
	if (header->epoch > CPA_EPOCH_ON && !cpa_epoch_is_on(header->epoch) &&
	    program->wall_s > program->observed_path_s) {
		program->segment_s[CPA_TIME_EXTERNAL] += program->wall_s - program->observed_path_s;
		program->observed_path_s = program->wall_s;
	}
	/* Activities only, as in max_parallelism: CPU time of waits and probes is not work. */
	program->work_s = cpa_build_seconds(build, build->process);
	program->parallelism = ratio(program->work_s, program->wall_s);
	program->utilization = ratio(ratio(program->cpu_s - cpa_build_seconds(build, build->early),
					   program->wall_s),
				     program->cores);
	check_tiles(build->profile);
}

struct cpa_profile *cpa_profile_build(struct cpa_dump *dump, enum cpa_graph graph)
{
	struct cpa_profile *profile;
	struct cpa_names names;

	cpa_names_init(&names, dump);
	profile = cpa_profile_build_named(dump, &names, graph);
	cpa_names_fini(&names);
	return profile;
}

struct cpa_profile *cpa_profile_build_named(struct cpa_dump *dump, struct cpa_names *names,
					    enum cpa_graph graph)
{
	uint32_t rows = graph == CPA_GRAPH_NODES ? 0 : dump->rows[CPA_TABLE_EDGES];
	struct cpa_build build = {
		.dump = dump,
		.names = names,
		.profile = xcalloc(1, sizeof(struct cpa_profile)),
		.total = xcalloc(dump->header.slots, sizeof(uint64_t)),
		.graph = graph,
		.edges = rows,
		.edge = xcalloc(rows + 1, sizeof(struct cpa_edge)),
	};

	cpa_names_prepare(names, graph == CPA_GRAPH_ALL, graph >= CPA_GRAPH_STACKS);
	build.tick_s = tick_length(&dump->header, build.profile);
	build.profile->tick_s = build.tick_s;
	build.profile->file = cpa_printable(dump->file, SIZE_MAX);
	cpa_vector_init(&build.program, dump->header.slots);
	cpa_build_threads(&build);
	cpa_build_processes(&build);
	cpa_build_bases(&build);
	build_program(&build);
	cpa_build_modules(&build);
	cpa_build_components(&build);
	cpa_build_contexts(&build);
	cpa_build_uses(&build);
	cpa_build_spin(&build);
	cpa_build_blocked(&build);
	cpa_build_objects(&build);
	build.profile->lock_arrays = cpa_lock_arrays_build(build.profile);
	cpa_build_queues(&build);
	cpa_build_streams(&build);
	cpa_build_marks(&build);
	cpa_build_parts(&build);
	cpa_build_margins(&build);
	cpa_build_pag(&build);
	build.profile->intervals = cpa_intervals_build(&build);
	cpa_build_diagnostics(&build);
	cpa_vector_fini(&build.program);
	cpa_vector_fini(&build.busiest);
	free(build.thread);
	free(build.process_of);
	free(build.total);
	free(build.path_share);
	free(build.error);
	free(build.moved);
	free(build.slot_kind);
	free(build.edge);
	return build.profile;
}

static void free_part(struct cpa_part_of_function *part)
{
	if (!part)
		return;
	for (size_t i = 0; i < part->callers; i++)
		free(part->caller[i]);
	free(part->caller);
	free(part->function);
	free(part);
}

static void free_edges(struct cpa_profile *profile)
{
	for (size_t i = 0; i < profile->edges; i++)
		for (uint32_t k = 0; k < profile->edge[i].functions; k++)
			free(profile->edge[i].function[k].function);
	free(profile->edge);
}

void cpa_profile_free(struct cpa_profile *profile)
{
	free(profile->file);
	free(profile->program.exe);
	free(profile->program.host);
	free(profile->program.name);
	for (size_t i = 0; i < profile->components; i++) {
		free(profile->component[i].name);
		free(profile->component[i].location);
		free(profile->component[i].callers);
		free_part(profile->component[i].part);
	}
	for (size_t i = 0; i < profile->threads; i++) {
		free(profile->thread[i].name);
		free(profile->thread[i].start_routine);
		free(profile->thread[i].last_name);
		free(profile->thread[i].last_routine);
	}
	for (size_t i = 0; i < profile->processes; i++) {
		free(profile->process[i].name);
		free(profile->process[i].argument);
	}
	free(profile->process);
	cpa_lock_arrays_free(profile->lock_arrays);
	for (size_t i = 0; i < profile->objects; i++) {
		free(profile->object[i].class);
		free(profile->object[i].location);
		free(profile->object[i].queue);
	}
	for (size_t i = 0; i < profile->queues; i++) {
		free(profile->queue[i].name);
		free(profile->queue[i].location);
	}
	cpa_streams_free(profile);
	for (size_t i = 0; i < profile->marks; i++)
		free(profile->mark[i].name);
	for (size_t i = 0; i < profile->nodes; i++) {
		free(profile->node[i].site);
		free(profile->node[i].location);
		free(profile->node[i].class);
	}
	for (size_t i = 0; i < profile->diagnostics.notes; i++)
		free(profile->diagnostics.note[i]);
	free_edges(profile);
	cpa_free_modules(profile);
	cpa_contexts_free(profile->contexts);
	free(profile->spin.function);
	free(profile->spin.location);
	cpa_intervals_free(profile->intervals);
	free(profile->component);
	free(profile->thread);
	free(profile->object);
	free(profile->queue);
	free(profile->mark);
	free(profile->part);
	free(profile->node);
	free(profile->diagnostics.note);
	free(profile);
}
