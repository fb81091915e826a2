/* SPDX-License-Identifier: MIT */
/*
 * analysis/profile/observed.c - the observed path of the program: which thread's it is
 *
 * That of the thread that ended the run, because the end waited for what is on it. If most of it is
 * idle time, the end waited for no work: a signal, or input from outside, came to a thread that did
 * nothing else. Then it is the path with the most time that is not idle, and idle time from that
 * path's end to the end of the run.
 *
 * Where profiling is off at the end, the end of the last part is that of the run. The threads that
 * did not wait for others then have equal clocks: the thread that ended the run if it is one of
 * them, else the one that was blocked least (as is_later() of shadow/edge/cell.c has it).
 */
#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/input/snapshot.h"
#include "analysis/profile/build.h"

static uint64_t length(const struct cpa_vector *path)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < CPA_TIME_KINDS; i++)
		sum += path->kind[i];
	return sum;
}

/*
 * The idle time on @path, with external time of no kind, which a thread has in parts of the run
 * that it was blocked in; *@most: the slot that has most of the idle time, 0: none.
 */
static uint64_t idle_time(const struct cpa_build *build, const struct cpa_vector *path,
			  uint32_t *most)
{
	uint32_t seen[CPA_EXTERNALS], slots = 0;
	uint64_t sum = 0, known = 0;

	*most = 0;
	for (uint32_t i = 1; i <= build->names->components; i++) {
		const struct cpa_component *row = cpa_names_row(build->names, i);
		uint32_t k = 0;

		if (!row || row->kind != CPA_EXTERNAL || slots == CPA_EXTERNALS)
			continue;
		while (k < slots && seen[k] != row->slot)
			k++;
		if (k < slots) /* several kinds may share a slot */
			continue;
		seen[slots++] = row->slot;
		known += path->observed[row->slot];
		if (cpa_external_class(row->address) != CPA_EXT_IDLE)
			continue;
		sum += path->observed[row->slot];
		if (path->observed[row->slot] > path->observed[*most])
			*most = row->slot;
	}
	return sum +
	       (path->kind[CPA_TIME_EXTERNAL] > known ? path->kind[CPA_TIME_EXTERNAL] - known : 0);
}

static void copy(struct cpa_vector *to, const struct cpa_vector *from)
{
	to->released = from->released;
	memcpy(to->kind, from->kind, sizeof(to->kind));
	memcpy(to->observed, from->observed, to->slots * sizeof(*to->observed));
}

void cpa_build_observed_begin(struct cpa_build *build)
{
	cpa_vector_fini(&build->busiest);
	cpa_vector_init(&build->busiest, build->dump->header.slots);
	build->busy = 0;
	build->busiest_thread = build->last_thread = 0;
	build->last_ended = false;
}

/* Whether the last part of the run has ended. */
static bool is_off(const struct cpa_header *header)
{
	return header->epoch > CPA_EPOCH_ON && !cpa_epoch_is_on(header->epoch);
}

/*
 * The clock at which @path ended: with the last part if that has ended, or, of the thread that
 * stopped it, one tick later. A thread that was in no part has no path.
 */
static uint64_t end_of(const struct cpa_header *header, const struct cpa_vector *path)
{
	uint64_t end = cpa_epoch_begun(header, header->epoch);

	if (!is_off(header) || path->released <= end + 1)
		return path->released;
	return length(path) ? end : 0;
}

/*
 * Whether the run ended with the path of the thread in @row rather than with that of
 * build->program.
 */
static bool is_last(const struct cpa_build *build, uint32_t row, const struct cpa_vector *path)
{
	const struct cpa_header *header = &build->dump->header;
	bool named = header->state != CPA_RUNNING && header->exit_thread != 0;
	bool off = is_off(header);
	const struct cpa_vector *other = &build->program;

	if (named && !off)
		return row == header->exit_thread;
	if (!off || end_of(header, path) != end_of(header, other))
		return end_of(header, path) > end_of(header, other);
	return !build->last_ended &&
	       ((named && row == header->exit_thread) ||
		path->kind[CPA_TIME_EXTERNAL] < other->kind[CPA_TIME_EXTERNAL]);
}

void cpa_build_observed_add(struct cpa_build *build, uint32_t row,
			    const struct cpa_reading *reading)
{
	const struct cpa_vector *path = &reading->path;
	uint64_t all = length(path), idle;
	uint32_t most;

	if (is_last(build, row, path)) {
		copy(&build->program, path);
		build->last_ended = row == build->dump->header.exit_thread;
		build->last_thread = (uint32_t)reading->row.key;
	}
	idle = idle_time(build, path, &most);
	if (idle <= all && all - idle > build->busy) {
		build->busy = all - idle;
		copy(&build->busiest, path);
		build->busiest_thread = (uint32_t)reading->row.key;
	}
}

void cpa_build_observed_end(struct cpa_build *build)
{
	struct cpa_vector *path = &build->program, *busiest = &build->busiest;
	uint64_t all = length(path), other = length(busiest), beyond, released = path->released;
	uint32_t most;

	build->profile->program.observed_thread = build->last_thread;
	if (idle_time(build, path, &most) <= all / 2 || build->busiest_thread == build->last_thread)
		return;
	/* What a thread did while the program was ending is not part of the run. */
	beyond = other > all ? other - all : 0;
	if (beyond > busiest->kind[CPA_TIME_PROCESS])
		return;
	copy(path, busiest);
	path->released = released;
	path->kind[CPA_TIME_PROCESS] -= beyond;
	path->kind[CPA_TIME_EXTERNAL] += all + beyond - other;
	if (most)
		path->observed[most] += all + beyond - other;
	build->profile->program.observed_thread = build->busiest_thread;
}
