/* SPDX-License-Identifier: MIT */
/* analysis/profile/notes.c - diagnostics: errors during the run and their effect on the figures */
#include <inttypes.h>
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/profile/build.h"
#include "analysis/profile/processes.h"
#include "analysis/profile/threads.h"
#include "analysis/symbols/construct.h"
#include "analysis/util/format.h"
#include "analysis/util/printable.h"

#define MOST_NAMES 3 /* library names listed in one note */
/* Other programs are noted if they had this share of the processors' time, */
#define LOADED 0.10
/* and this many seconds of it: the kernel counts in steps of 0.01 s. */
#define LOADED_S 0.10

/*
 * By counter: the things counted, and what they do to the figures. The number stands between the
 * two, so that a note reads right for one as for many. Counters without a text are not a problem.
 */
static const struct counter_note {
	const char *counted, *effect;
} counter_notes[CPA_DIAG_COUNT] = {
	[CPA_DIAG_SAMPLES_LOST] = {
		"Samples lost",
		"The shares of functions are less exact.",
	},
	[CPA_DIAG_OBJECTS_REFUSED] = {
		"Operations on objects for which there was no space",
		"Their dependencies are missing, and the critical path may be too short.",
	},
	[CPA_DIAG_EDGES_REFUSED] = {
		"Operations missing from the activity graph, which was full",
		"Paths and components are not affected.",
	},
	[CPA_DIAG_THREADS_REFUSED] = {
		"Threads that ran unprofiled",
		"No figure includes their time.",
	},
	[CPA_DIAG_VERSIONS_REFUSED] = {
		"Extensions of a path for which there was no memory",
		"Shares and savings are too small.",
	},
	[CPA_DIAG_TOKENS_REFUSED] = {
		"Signals and posts that could not be recorded",
		"The waits that they ended have no dependency.",
	},
	[CPA_DIAG_UNMATCHED_WAKES] = {
		"Waits that ended without a release that cpa saw",
		"They count as external time, \"unseen\".",
	},
	[CPA_DIAG_NESTED] = {
		"Operations in signal handlers that interrupted the profiler",
		"They were not recorded.",
	},
	[CPA_DIAG_FOREIGN_UNLOCKS] = {
		"Unlocks by a thread that did not hold the lock",
		"The hold times are not known.",
	},
	[CPA_DIAG_FORKS] = {
		"Child processes of fork that could not join the session, as those that a signal "
		"handler forks",
		"No figure includes them.",
	},
	[CPA_DIAG_OTHER_USERS] = {
		"Child processes that became another user, as workers of a server do that root "
		"starts, and left the session",
		"No figure includes what they did from then on.",
	},
	[CPA_DIAG_PROCESSES_REFUSED] = {
		"Child processes that did not fit into the session",
		"No figure includes them.",
	},
	[CPA_DIAG_UNSEEN_CHILDREN] = {
		"Waits for child processes that are not in the session (static, set-uid, of "
		"another user, or started without LD_PRELOAD and CPA_SESSION in the "
		"environment)",
		"These waits are external time, \"child\".",
	},
	[CPA_DIAG_PROCESSES_LOST] = {
		"Child processes that ended without notice (for example killed)",
		"No figure includes what they did after their last event.",
	},
	[CPA_DIAG_HELD_OVERFLOW] = {
		"Locks taken by threads that already held 16 locks",
		"Time in these critical sections is not counted for them.",
	},
	[CPA_DIAG_SAMPLERS_REFUSED] = {
		"Threads without a sampler",
		"The functions in which they spent time are not known.",
	},
	[CPA_DIAG_ALIASED_CLASSES] = {
		"Components that share a slot with another",
		"Set CPA_COMPONENTS higher to tell them apart.",
	},
	[CPA_DIAG_SEARCH_WAITS] = {
		"Times that no slot was free to separate components that share one",
		"Set CPA_COMPONENTS higher.",
	},
	[CPA_DIAG_ITEMS_REFUSED] = {
		"Enqueued items that could not be recorded for lack of space",
		"Their dequeues have no dependency, and the critical path may be too short.",
	},
	[CPA_DIAG_ITEMS_UNMATCHED] = {
		"Items dequeued that cpa had not seen enqueued",
		"Their dequeues have no dependency, and the times in queue do not include them.",
	},
	[CPA_DIAG_ITEMS_TWICE] = {
		"Items enqueued while already in the queue",
		"Each dequeue is matched to the oldest enqueue, so some times in queue may be "
		"those of another item.",
	},
	[CPA_DIAG_ITEMS_UNBALANCED] = {
		"Items marked done that were not being processed, or too many processed at once",
		"Service times do not include them.",
	},
	[CPA_DIAG_REGIONS_UNBALANCED] = {
		"Regions that ended without a begin or began without an end",
		"Their times are less exact.",
	},
	[CPA_DIAG_STREAMS_REFUSED] = {
		"Uses of pipes or sockets beyond the number that a session follows",
		"Waits for them are external time.",
	},
	[CPA_DIAG_NAMED_LATE] = {
		"Locks that CPA_LOCK_NAME() named after their first use",
		"They keep the names that they had.",
	},
	[CPA_DIAG_STACKS_REFUSED] = {
		"Stacks that could not be recorded for lack of space",
		"Shares of callers do not include them.",
	},
	[CPA_DIAG_MARKS_REFUSED] = {
		"Marks that could not be recorded for lack of space",
		"The report does not list them.",
	},
	[CPA_DIAG_CALLS_UNBALANCED] = {
		"Instrumented functions left in a way that cpa did not see",
		"Their inclusive times are less exact.",
	},
	[CPA_DIAG_OMP_UNSEEN] = {
		"Uses of OpenMP constructs that were not recorded (more than six dependences "
		"of a task, iterations waited for much later, regions of libomp if another tool "
		"has OMPT, regions of programs made by gcc before 4.9)",
		"Their dependencies are missing from both paths.",
	},
	[CPA_DIAG_PART_FORGOTTEN] = {
		"Times that a thread noticed a switch of profiling only some 60 switches later",
		"Its time is divided less exactly among the parts of the run.",
	},
	[CPA_DIAG_DELAYS_UNKNOWN] = {
		"Threads whose time on the run queue the system does not show (schedstat)",
		"That time counts as what the thread was blocked in before, or as hand-off: both may be "
		"too large where processors are short.",
	},
	[CPA_DIAG_PART_ITEMS] = {
		"Items that were in queues when profiling stopped, and were dropped",
		"If they were dequeued later, the dequeue has no dependency.",
	},
};

static const char *const table_names[CPA_TABLES] = {
	[CPA_TABLE_THREADS] = "thread",	      [CPA_TABLE_OBJECTS] = "object",
	[CPA_TABLE_COMPONENTS] = "component", [CPA_TABLE_SITES] = "site",
	[CPA_TABLE_MODULES] = "module",	      [CPA_TABLE_NODES] = "graph node",
	[CPA_TABLE_EDGES] = "graph edge",     [CPA_TABLE_TOKENS] = "token",
	[CPA_TABLE_NAMES] = "name",	      [CPA_TABLE_QUEUES] = "queue",
	[CPA_TABLE_MARKS] = "mark",	      [CPA_TABLE_BASES] = "slot base",
	[CPA_TABLE_SERIES] = "sample",	      [CPA_TABLE_POINTS] = "thread sample",
	[CPA_TABLE_PROCESSES] = "process",    [CPA_TABLE_PATHS] = "lock path",
	[CPA_TABLE_STREAMS] = "stream",	      [CPA_TABLE_CONTEXTS] = "context",
	[CPA_TABLE_STACKS] = "stack",
};

/* Of these rows the paths and the verdict are made. */
static uint64_t count_lost(const struct cpa_dump *dump)
{
	static const enum cpa_table_id tables[] = { CPA_TABLE_THREADS, CPA_TABLE_COMPONENTS,
						    CPA_TABLE_OBJECTS, CPA_TABLE_QUEUES,
						    CPA_TABLE_STREAMS };
	uint64_t lost = dump->broken_paths;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		lost += dump->broken[tables[i]];
	return lost;
}

static void note_rows(struct cpa_build *build)
{
	const struct cpa_dump *dump = build->dump;
	struct cpa_profile *profile = build->profile;

	profile->diagnostics.lost_rows = count_lost(dump);

	for (uint32_t id = 0; id < CPA_TABLES && id < dump->header.tables; id++) {
		uint32_t refused = dump->header.table[id].refused;

		if (refused)
			cpa_profile_note(profile,
					 "No space for more %s rows: %" PRIu32 " left out.",
					 table_names[id], refused);
		if (dump->broken[id])
			cpa_profile_note(profile,
					 "Damaged or cut off %s rows in the dump: %" PRIu64
					 " left out.",
					 table_names[id], dump->broken[id]);
	}
	if (dump->broken_paths)
		cpa_profile_note(profile,
				 "Damaged or cut off paths in the dump: %" PRIu64
				 ". The critical path may be too short.",
				 dump->broken_paths);
	if (build->torn)
		cpa_profile_note(
			profile,
			"%" PRIu32
			" thread%s stopped in the middle of an event: %s last event is counted "
			"only in part.",
			build->torn, build->torn == 1 ? " was" : "s were",
			build->torn == 1 ? "its" : "their");
	if (dump->header.copied == CPA_COPY_ROWS)
		cpa_profile_note(
			profile,
			"This copy was taken row by row while the process ran: some figures may "
			"be from slightly different moments.");
	if (dump->unsteady)
		cpa_profile_note(profile,
				 "Rows that changed while they were read: %" PRIu64
				 ". Some of their figures may be from slightly different moments.",
				 dump->unsteady);
}

/* Threads of the first process that cpa had not met when it ended. */
static uint64_t count_strangers(const struct cpa_build *build)
{
	const struct cpa_profile *profile = build->profile;
	uint64_t all = build->dump->header.end_threads, known = 0;

	for (size_t i = 0; i < profile->threads; i++)
		known += profile->process && profile->thread[i].process == profile->process[0].id &&
			 (profile->thread[i].state == CPA_THREAD_RUNNING ||
			  profile->thread[i].state == CPA_THREAD_DETACHED);
	return all > known ? all - known : 0;
}

/*
 * The most that threads of OpenMP's pools can have spun from their last event to the end of their process: they
 * wait there for another region, which did not come.
 */
static double most_spun(const struct cpa_profile *profile)
{
	double most_s = 0;

	for (size_t i = 0; i < profile->threads; i++) {
		const struct cpa_thread_figures *thread = &profile->thread[i];
		double last_s = thread->begun_s + thread->lived_s;

		if (thread->state != CPA_THREAD_RUNNING ||
		    !cpa_construct_is_pool(thread->start_routine))
			continue;
		for (size_t k = 0; k < profile->processes; k++)
			if (profile->process[k].id == thread->process)
				most_s += fmax(profile->process[k].end_s - last_s, 0);
	}
	return most_s;
}

/*
 * CPU time of a process by the kernel. One that was killed did not report it, so the sum of a
 * command's processes may lack some.
 */
static double kernel_cpu_of(const struct cpa_process_figures *process)
{
	if (process->kernel_cpu_s <= 0)
		return process->cpu_s;
	return process->count > 1 ? fmax(process->kernel_cpu_s, process->cpu_s) :
				    process->kernel_cpu_s;
}

/* Whether @some_s more or less of CPU time than the kernel's @kernel_s is no more than what differs anyway. */
static bool is_little(double some_s, double kernel_s)
{
	return some_s < 0.02 || some_s < kernel_s / 20;
}

/* Compare the kernel's CPU time of the processes with the sum over the threads. */
static void note_cpu(struct cpa_build *build)
{
	const struct cpa_header *header = &build->dump->header;
	struct cpa_profile *profile = build->profile;
	double kernel = (double)header->cpu_end_ns * 1e-9;
	double ours = profile->program.cpu_s;

	for (size_t i = 1; i < profile->processes; i++)
		kernel += kernel_cpu_of(&profile->process[i]);
	/* The kernel's CPU time includes time between profiled parts, which no figure has. */
	if (header->epoch > CPA_EPOCH_ON || header->cpu_end_ns == 0 ||
	    is_little(fabs(kernel - ours), kernel))
		return;
	if (kernel > ours)
		profile->diagnostics.strangers = count_strangers(build);
	if (kernel > ours && !profile->diagnostics.strangers &&
	    is_little(kernel - ours - most_spun(profile), kernel)) {
		cpa_profile_note(
			profile,
			"The kernel counted %.3f s of CPU time, the threads' figures have %.3f s: the "
			"threads of OpenMP's pool spun from their last region to the end.",
			kernel, ours);
		return;
	}
	profile->diagnostics.missing_s = fmax(kernel - ours, 0);
	if (profile->diagnostics.strangers)
		cpa_profile_note(
			profile,
			"Threads of the program that never met cpa: %" PRIu64
			" at its end. The kernel counted %.3f s of CPU time, the other threads have "
			"%.3f s.",
			profile->diagnostics.strangers, kernel, ours);
	else if (kernel < ours)
		cpa_profile_note(
			profile,
			"The kernel counted %.3f s of CPU time, less than the %.3f s of the threads' "
			"figures: some of them are too large, or the kernel's sum lacks a process.",
			kernel, ours);
	else
		cpa_profile_note(
			profile,
			"The kernel counted %.3f s of CPU time, but the threads' figures sum up to "
			"%.3f s: some threads or activities are missing.",
			kernel, ours);
}

/* Note the error bound of lock uses that were not timed. */
static void note_untimed(struct cpa_build *build)
{
	const uint64_t *diag = build->dump->header.diag;
	struct cpa_diagnostics_figures *diagnostics = &build->profile->diagnostics;

	diagnostics->untimed = diag[CPA_DIAG_UNTIMED];
	diagnostics->idle_sleeps = diag[CPA_DIAG_ROUNDS];
	diagnostics->untimed_handoffs = diag[CPA_DIAG_UNTIMED_HANDOFFS];
	diagnostics->untimed_handoffs_s = cpa_build_seconds(build, diag[CPA_DIAG_UNTIMED_TICKS]);
	if (diagnostics->untimed_handoffs_s > build->profile->program.critical_path_s / 100)
		cpa_profile_note(
			build->profile,
			"Times that a thread took a lock after another thread had used it untimed: "
			"%" PRIu64
			". The paths through these hand-offs may be short by %.3f s in all.",
			diagnostics->untimed_handoffs, diagnostics->untimed_handoffs_s);
}

/* Note the errors at the borders of profiled parts. */
static void note_parts(struct cpa_build *build)
{
	const struct cpa_header *header = &build->dump->header;
	struct cpa_profile *profile = build->profile;
	double late = cpa_build_seconds(build, header->diag[CPA_DIAG_PART_LATE_TICKS]);
	double blocked = cpa_build_seconds(build, header->diag[CPA_DIAG_PART_BLOCKED_TICKS]);

	if (header->epoch > CPA_EPOCH_ON && profile->program.wall_s <= 0)
		cpa_profile_note(
			profile,
			"Profiling was never on: nobody started it (CPA_START(), cpa ctl), or the run "
			"ended before the first window of its budget.");
	if (late > profile->program.critical_path_s / 100)
		cpa_profile_note(
			profile,
			"Times that a thread worked without any event from one part of the run "
			"into the next: %" PRIu64
			". The paths of other threads in these parts may be short by %.3f s in "
			"all.",
			header->diag[CPA_DIAG_PART_LATE], late);
	if (blocked > 1e-3 && blocked > profile->program.wall_s / 100)
		cpa_profile_note(
			profile,
			"Threads were already blocked when a part of the run began: cpa does not "
			"know what they waited for, and %.3f s of these waits are on no critical "
			"path.",
			blocked);
}

/* Who used the processors. */
static void take_load(struct cpa_build *build)
{
	const struct cpa_load *load = &build->dump->header.load;
	struct cpa_processors_figures *figures = &build->profile->diagnostics.processors;
	double own = fmax((double)load->own_ns * 1e-9, build->profile->program.cpu_s);

	figures->all_s = (double)load->all_ns * 1e-9;
	figures->others_s = fmax((double)load->busy_ns * 1e-9 - own, 0);
	figures->stolen_s = (double)load->stolen_ns * 1e-9;
}

static void note_modules(struct cpa_build *build)
{
	for (uint32_t i = 1; i <= build->names->modules; i++) {
		const char *trouble = cpa_symbols_trouble(build->names->symbols, i);

		if (trouble)
			cpa_profile_note(build->profile, "%s", trouble);
	}
	for (size_t i = 0; cpa_perf_map_trouble(build->names->perf_map, i); i++)
		cpa_profile_note(build->profile, "%s",
				 cpa_perf_map_trouble(build->names->perf_map, i));
}

/* Note libraries that were not seen for reason @why. Return their number. */
static uint64_t note_unseen(struct cpa_build *build, uint32_t why, const char *how)
{
	char *names = xstrdup("");
	uint64_t count = 0;

	for (uint32_t i = 1; i <= build->names->modules; i++) {
		struct cpa_module row;
		char *name, *longer;

		if (!cpa_dump_row(build->dump, CPA_TABLE_MODULES, i, &row, sizeof(row)) ||
		    row.unseen != why || ++count > MOST_NAMES)
			continue;
		name = cpa_printable(row.path, sizeof(row.path));
		longer = cpa_format_text("%s%s%s", names, count > 1 ? ", " : "",
					 cpa_printable_base(name));
		free(name);
		free(names);
		names = longer;
	}
	if (count)
		cpa_profile_note(
			build->profile,
			"%" PRIu64
			" librar%s to be loaded %s (%s%s): cpa cannot see the locks and threads "
			"of such libraries.",
			count, count == 1 ? "y was" : "ies were", how, names,
			count > MOST_NAMES ? ", ..." : "");
	free(names);
	return count;
}

static void note_source(struct cpa_build *build)
{
	const struct cpa_machine *machine = &build->dump->header.machine;
	uint64_t begun = build->dump->header.start_ticks;

	if (machine->source == CPA_SOURCE_KERNEL)
		cpa_profile_note(
			build->profile,
			"The kernel reports the time stamp counter as unstable: cpa takes times "
			"from the kernel, at the cost of a system call each.");
	if (machine->source == CPA_SOURCE_DRIFT)
		cpa_profile_note(
			build->profile,
			"The time stamp counter drifted from the kernel's clock by %.6f s in %.6f "
			"s: from %.6f s of the run on, times are from the kernel's clock.",
			cpa_build_seconds(build, machine->drift_ticks),
			cpa_build_seconds(build, machine->drift_over_ticks),
			machine->source_ticks > begun ?
				cpa_build_seconds(build, machine->source_ticks - begun) :
				0);
}

/* Copy the measured costs of the machine, and the time that samples took. */
static void take_machine(struct cpa_build *build)
{
	const struct cpa_header *header = &build->dump->header;
	const struct cpa_machine *machine = &header->machine;
	struct cpa_diagnostics_figures *diagnostics = &build->profile->diagnostics;

	diagnostics->machine = (struct cpa_machine_figures){
		.counter_s = machine->counter_ns * 1e-9,
		.look_s = machine->look_ns * 1e-9,
		.wake_s = machine->wake_ns * 1e-9,
		.interrupt_s = machine->interrupt_ns * 1e-9,
		.brief_s = machine->brief_ns * 1e-9,
		.source = machine->source < CPA_SOURCE_KERNEL ? "counter" : "kernel",
		.most_hz = machine->most_hz,
	};
	note_source(build);
	diagnostics->samples_s =
		(double)header->diag[CPA_DIAG_INTERRUPTS] * diagnostics->machine.interrupt_s;
	if (machine->most_hz)
		cpa_profile_note(
			build->profile,
			"cpa sampled at %" PRIu32 " Hz, not at the %" PRIu32
			" of CPA_SAMPLE_HZ: a sample takes %.1f us on this machine, and samples "
			"may use at most 5 %% of a processor.",
			machine->most_hz, header->sample_hz,
			diagnostics->machine.interrupt_s * 1e6);
}

void cpa_build_diagnostics(struct cpa_build *build)
{
	const struct cpa_header *header = &build->dump->header;
	struct cpa_profile *profile = build->profile;
	struct cpa_diagnostics_figures *diagnostics = &profile->diagnostics;

	diagnostics->clock = cpa_names_clock(header->clock);
	diagnostics->samples = header->diag[CPA_DIAG_SAMPLES];
	diagnostics->samples_lost = header->diag[CPA_DIAG_SAMPLES_LOST];
	diagnostics->objects_untracked = header->diag[CPA_DIAG_OBJECTS_REFUSED];
	for (uint32_t i = 0; i < CPA_DIAG_COUNT; i++)
		if (counter_notes[i].counted && header->diag[i])
			cpa_profile_note(profile, "%s: %" PRIu64 ". %s", counter_notes[i].counted,
					 header->diag[i], counter_notes[i].effect);
	if (header->state == CPA_EXECED)
		cpa_profile_note(
			profile,
			"The program replaced itself with another one (exec), which is not in "
			"this profile.");
	if (profile->threads == 0)
		cpa_profile_note(profile, "No thread recorded any figures.");
	diagnostics->deepbind = note_unseen(build, CPA_UNSEEN_DEEPBIND, "with RTLD_DEEPBIND");
	diagnostics->namespaced =
		note_unseen(build, CPA_UNSEEN_NAMESPACE, "into another namespace");
	take_machine(build);
	note_rows(build);
	note_cpu(build);
	take_load(build);
	note_untimed(build);
	cpa_build_process_notes(build);
	cpa_build_stream_notes(build);
	cpa_build_search_notes(build);
	note_parts(build);
	note_modules(build);
}
