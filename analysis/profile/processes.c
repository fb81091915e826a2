/* SPDX-License-Identifier: MIT */
/* analysis/profile/processes.c - the processes of a session, with sums over their threads */
#include <inttypes.h>
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/build.h"
#include "analysis/profile/processes.h"
#include "analysis/profile/threads.h"
#include "analysis/util/format.h"
#include "analysis/util/printable.h"

#define LOST 0.1 /* of the run: a process that was killed so long after its last event is noted */

static double cpu_of(const struct cpa_build *build, const struct cpa_process_sums *sums)
{
	return cpa_build_seconds(build,
				 sums->before + sums->process + sums->wait_cpu + sums->probe);
}

/* Add the sums of a thread row since they were @less. */
static void add_thread(struct cpa_process_sums *sums, const struct cpa_thread *thread,
		       const struct cpa_process_sums *less)
{
	const uint64_t *now = &thread->before, *then = (const uint64_t *)less;
	uint64_t *sum = (uint64_t *)sums;

	for (unsigned i = 0; i < sizeof(*sums) / sizeof(*sum); i++)
		sum[i] += now[i] > then[i] ? now[i] - then[i] : 0;
}

/*
 * Add what threads have not yet added to their processes. Set @whole to the whole sums of the rows of each process,
 * and build->process_of to its row, for now.
 */
static void add_threads(struct cpa_build *build, struct cpa_process_row *rows, uint32_t n,
			struct cpa_process_sums *whole)
{
	static const struct cpa_process_sums none;
	struct cpa_dump *dump = build->dump;
	uint32_t threads = dump->rows[CPA_TABLE_THREADS];

	build->process_of = xcalloc((size_t)threads + 1, sizeof(*build->process_of));
	for (uint32_t i = 1; i <= threads; i++) {
		struct cpa_thread thread;
		uint32_t at;

		if (!cpa_dump_row(dump, CPA_TABLE_THREADS, i, &thread, sizeof(thread)))
			continue;
		cpa_build_settle(&thread);
		at = thread.process_row;
		if (!at || at > n || !rows[at - 1].key || rows[at - 1].key != thread.process_key)
			continue;
		add_thread(&rows[at - 1].sums, &thread, &thread.given);
		add_thread(&whole[at - 1], &thread, &none);
		build->process_of[i - 1] = at;
	}
}

static double since_start(const struct cpa_build *build, uint64_t ticks)
{
	uint64_t start = build->dump->header.start_ticks;

	return ticks > start ? cpa_build_seconds(build, ticks - start) : 0;
}

static bool has_status(const struct cpa_process_row *row)
{
	return row->waited && row->status != CPA_STATUS_UNKNOWN;
}

static enum cpa_ending ending_of(const struct cpa_process_row *row)
{
	switch (row->state) {
	case CPA_PROCESS_ENDED:
	case CPA_PROCESS_SUM:
		return CPA_ENDING_SEEN;
	case CPA_PROCESS_GONE:
		return has_status(row) && (row->status & 0x7f) ? CPA_ENDING_KILLED :
								 CPA_ENDING_UNSEEN;
	case CPA_PROCESS_EXECED:
		return CPA_ENDING_EXECED;
	default:
		return CPA_ENDING_NONE;
	}
}

/* Whether several processes of the command of @rows[@at], of @n, have different arguments. */
static bool differs(const struct cpa_process_row *rows, uint32_t n, uint32_t at)
{
	for (uint32_t i = 0; i < n; i++)
		if (rows[i].key && rows[i].state < CPA_PROCESS_SUM &&
		    rows[i].name == rows[at].name &&
		    memcmp(rows[i].argument, rows[at].argument, CPA_ARGUMENT) != 0)
			return true;
	return false;
}

char *cpa_process_title(const struct cpa_process_figures *process)
{
	const char *argument = process->argument ? process->argument : "";

	return cpa_format_text("%s%s%s", process->name, *argument ? " " : "", argument);
}

/* Add @rows[@at], of @n. @has_rows: see struct cpa_process_figures. */
static void add_process(struct cpa_build *build, const struct cpa_process_row *rows, uint32_t n,
			uint32_t at, bool has_rows)
{
	const struct cpa_process_row *row = &rows[at];
	struct cpa_profile *profile = build->profile;
	struct cpa_process_figures *figures = &profile->process[profile->processes++];
	char *name = cpa_names_text(build->names, row->name);
	bool shown = row->argument[0] && row->state != CPA_PROCESS_SUM && differs(rows, n, at);

	*figures = (struct cpa_process_figures){
		.id = row->key,
		.parent = row->parent_key,
		.pid = row->pid,
		.count = row->state == CPA_PROCESS_SUM ? row->count : 1,
		.threads = row->threads,
		.images = row->images,
		.name = name ? name : xstrdup("?"),
		.argument = shown ? cpa_printable(row->argument, CPA_ARGUMENT) : NULL,
		.ending = ending_of(row),
		.status = has_status(row) ? row->status : 0,
		.waited = has_status(row),
		.start_s = since_start(build, row->start_ticks),
		.end_s = row->end_ticks ? since_start(build, row->end_ticks) : 0,
		.cpu_s = cpu_of(build, &row->sums),
		.process_s = cpa_build_seconds(build, row->sums.process),
		.wait_s = cpa_build_seconds(build, row->sums.wait),
		.external_s = cpa_build_seconds(build, row->sums.external),
		.runqueue_s = cpa_build_seconds(build, row->sums.runqueue),
		.probe_s = cpa_build_seconds(build, row->sums.probe),
		.kernel_cpu_s = (double)row->cpu_ns * 1e-9,
		.has_rows = has_rows,
	};
}

/* Let build->process_of be indices + 1 of processes: those that rows of the table have are @index. */
static void number_rows(struct cpa_build *build, const uint32_t *index)
{
	for (uint32_t i = 0; i < build->dump->rows[CPA_TABLE_THREADS]; i++)
		if (build->process_of[i])
			build->process_of[i] = index[build->process_of[i] - 1];
}

void cpa_build_processes(struct cpa_build *build)
{
	struct cpa_dump *dump = build->dump;
	uint32_t n = dump->rows[CPA_TABLE_PROCESSES];
	struct cpa_process_row *rows = xcalloc((size_t)n + 1, sizeof(*rows));
	struct cpa_process_sums *whole = xcalloc((size_t)n + 1, sizeof(*whole));
	uint32_t *index = xcalloc((size_t)n + 1, sizeof(*index));

	build->profile->process = xcalloc((size_t)n + 1, sizeof(*build->profile->process));
	for (uint32_t i = 1; i <= n; i++)
		if (!cpa_dump_row(dump, CPA_TABLE_PROCESSES, i, &rows[i - 1], sizeof(*rows)))
			rows[i - 1].key = 0;
	add_threads(build, rows, n, whole);
	for (uint32_t i = 0; i < n; i++) {
		if (!rows[i].key || rows[i].state == CPA_PROCESS_FREE ||
		    rows[i].state == CPA_PROCESS_CLAIMED ||
		    (rows[i].state == CPA_PROCESS_SUM && !rows[i].count))
			continue;
		if (rows[i].state > CPA_PROCESS_SUM) {
			cpa_dump_skip(dump, CPA_TABLE_PROCESSES);
			continue;
		}
		/* Rows that were another process's before have more; rows that are one's now have less. */
		add_process(build, rows, n, i,
			    memcmp(&rows[i].sums, &whole[i], sizeof(whole[i])) == 0);
		index[i] = (uint32_t)build->profile->processes;
	}
	number_rows(build, index);
	free(index);
	free(whole);
	free(rows);
}

/* Note that processes went on after the first one, whose end is that of the run. */
static void note_outliving(struct cpa_profile *profile)
{
	double latest_s = 0;

	for (size_t i = 1; i < profile->processes; i++)
		latest_s = fmax(latest_s, profile->process[i].end_s);
	if (latest_s > profile->process[0].end_s &&
	    profile->program.critical_path_s > profile->program.wall_s)
		cpa_profile_note(
			profile,
			"Processes went on for up to %.3f s after the first one had ended: the "
			"wall time ends with the first, the critical path with the last.",
			latest_s - profile->process[0].end_s);
}

/* Seconds from the last event of a thread of @process to its end; 0: not known. */
static double after_last_event(const struct cpa_profile *profile,
			       const struct cpa_process_figures *process)
{
	double last_s = 0;

	for (size_t i = 0; i < profile->threads; i++) {
		const struct cpa_thread_figures *thread = &profile->thread[i];

		if (thread->process == process->id)
			last_s = fmax(last_s, thread->begun_s + thread->lived_s);
	}
	return last_s > 0 && process->end_s > last_s ? process->end_s - last_s : 0;
}

/* Note the process that ended without notice longest after its last event: how much is in no figure. */
static void note_lost(struct cpa_profile *profile)
{
	const struct cpa_process_figures *most = NULL;
	double most_s = 0;

	for (size_t i = 1; i < profile->processes; i++) {
		const struct cpa_process_figures *process = &profile->process[i];
		double after_s = process->ending == CPA_ENDING_KILLED ||
						 process->ending == CPA_ENDING_UNSEEN ?
					 after_last_event(profile, process) :
					 0;

		if (after_s <= most_s)
			continue;
		most = process;
		most_s = after_s;
	}
	if (!most || most_s <= LOST * profile->program.run_s)
		return;
	profile->diagnostics.lost = most;
	profile->diagnostics.lost_s = most_s;
	cpa_profile_note(profile,
			 "The last event of process %" PRIu32
			 " (%s, %s) was %.3f s before its end: what it did then, work or not, is "
			 "in no figure.",
			 most->pid, most->name, cpa_ending_word(most->ending), most_s);
}

void cpa_build_process_notes(struct cpa_build *build)
{
	struct cpa_profile *profile = build->profile;
	size_t running = 0;

	for (size_t i = 1; i < profile->processes; i++)
		running += profile->process[i].ending == CPA_ENDING_NONE;
	if (running && profile->program.complete)
		cpa_profile_note(
			profile,
			"%zu process%s still ran when the first one ended, or ended without "
			"notice: the run ends with the first process.",
			running, running == 1 ? "" : "es");
	if (profile->processes > 1 && profile->program.complete)
		note_outliving(profile);
	note_lost(profile);
}

const char *cpa_ending_word(enum cpa_ending ending)
{
	static const char *const words[CPA_ENDINGS] = {
		[CPA_ENDING_NONE] = "running",	    [CPA_ENDING_SEEN] = "ended",
		[CPA_ENDING_KILLED] = "killed",	    [CPA_ENDING_UNSEEN] = "ended unseen",
		[CPA_ENDING_EXECED] = "not joined",
	};

	return words[ending];
}
