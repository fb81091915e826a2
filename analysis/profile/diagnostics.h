/* SPDX-License-Identifier: MIT */
/* analysis/profile/diagnostics.h - what the profiler cost, and what it did not see */
#ifndef CPA_ANALYSIS_PROFILE_DIAGNOSTICS_H
#define CPA_ANALYSIS_PROFILE_DIAGNOSTICS_H

#include <stddef.h>
#include <stdint.h>

struct cpa_process_figures;

/* What operations take on the machine; 0: not known. */
struct cpa_machine_figures {
	double counter_s;   /* a look at the counter */
	double look_s;	    /* a look at the CPU clock of a thread */
	double wake_s;	    /* a sleep that ends at once, with both switches */
	double interrupt_s; /* for a sample of a perf event */
	double brief_s;	    /* sections that are shorter are told by draws, not by samples */
	const char *source; /* of all times: "counter", or "kernel" where that is no clock */
	uint64_t most_hz;   /* samples a second, where that was fewer than asked for; else 0 */
};

/* Who used the processors that the program could run on, while it ran; sums over them. */
struct cpa_processors_figures {
	double all_s;	 /* busy or not; 0: not known */
	double others_s; /* by other programs */
	double stolen_s; /* by a hypervisor */
};

struct cpa_diagnostics_figures {
	double probe_s;
	const char *clock;
	uint64_t samples, samples_lost, objects_untracked;
	double samples_s; /* that the samples' interrupts took */
	struct cpa_machine_figures machine;
	uint64_t deepbind,
		namespaced; /* libraries that were to be loaded so that they are not seen */
	/*
	 * Uses of locks that were not timed; how many of them another thread's use followed; the time, s, that is
	 * missing on the edges to those.
	 */
	uint64_t untimed, untimed_handoffs;
	double untimed_handoffs_s;
	uint64_t idle_sleeps; /* sleeps of threads that do little but sleep */
	/*
	 * CPU time that the kernel counted and no thread has; threads of the process, at its end,
	 * that cpa did not know.
	 */
	double missing_s;
	/*
	 * The process that was killed, or ended unseen, longest after its last event, and how long; 0: not longer
	 * than a tenth of the run. What it did then is in no figure.
	 */
	double lost_s;
	const struct cpa_process_figures *lost;
	uint64_t strangers;
	/*
	 * Rows of threads, components, objects, queues and streams, and paths, that are damaged or
	 * cut off.
	 */
	uint64_t lost_rows;
	struct cpa_processors_figures processors;
	size_t notes;
	char **note; /* sentences */
};

#endif
