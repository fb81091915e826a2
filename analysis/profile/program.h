/* SPDX-License-Identifier: MIT */
/* analysis/profile/program.h - figures of the program, and of the run as a whole */
#ifndef CPA_ANALYSIS_PROFILE_PROGRAM_H
#define CPA_ANALYSIS_PROFILE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "shadow/format/layout.h"

struct cpa_program_figures {
	char *exe, *host;
	char *name;	   /* what it was called, which a link or a script may say */
	time_t started_at; /* date and time of the start; 0: not known */
	uint32_t pid;
	enum cpa_session_state state;
	bool complete; /* it ran to its end */
	bool journal;  /* the dump has one: predictions are possible */
	bool copied;   /* by cpa ctl snapshot, while it ran */
	bool running;  /* its process has not ended: set by callers that look for it */
	/*
	 * A signal handler interrupted cpa's own code and called something, and the end was not
	 * recorded: so the handler jumped out, or ended the program, which ends the profile of its
	 * thread.
	 */
	bool left_by_handler;
	bool waited;  /* its parent waited for its end, so status is known */
	int status;   /* wait status */
	double end_s; /* from its start; 0: not known */
	uint32_t cores;
	uint32_t format;	/* version of the session file */
	uint32_t sample_hz;	/* samples a second of CPU time that were asked for */
	uint32_t by_callers;	/* callers by which functions are divided; 0: functions are whole */
	size_t threads;		/* rows with figures */
	double wall_s;		/* profiled time; an unfinished run ends at the last event seen */
	double run_s;		/* from start to end, profiled or not */
	uint64_t earlier_parts; /* number of profiled parts before the oldest one in `part` */
	uint64_t windows;	/* windows of a budget; 0: the run had no budget */
	bool sampled;		/* windows of a budget were profiled, and not the whole run */
	double stands_for_s;	/* how much of the run the windows stand for: evenness.h */
	size_t batches;		/* batches of windows; 0: too few, and the margins below are NAN */
	/* see margins.h */
	double wait_margin_s, parallelism_margin, max_parallelism_margin;
	double cpu_margin_s, critical_path_margin_s, utilization_margin;
	double blocked_margin_s[CPA_EXT_CLASSES]; /* of blocked_s; NAN for CPA_EXT_WAIT */
	double wait_s;				  /* of all threads, in synchronization */
	double cpu_s;				  /* of all threads: work, waiting and probes */
	double wait_cpu_s;			  /* of that: waiting */
	double work_s;				  /* the activities' part of cpu_s */
	double external_s;
	double blocked_s[CPA_EXT_CLASSES]; /* external_s by class */
	double critical_path_s;		   /* inherent: L */
	double idle_path_s; /* critical path if idle time weighs; 0: not known (no journal) */
	double observed_path_s;
	uint32_t observed_thread; /* id of the thread at the end of the observed path; 0: none */
	double segment_s[CPA_TIME_KINDS];	   /* of the observed path */
	double segment_blocked_s[CPA_EXT_CLASSES]; /* of its external time */
	/*
	 * Time of waits across the begin or end of a profiled part, for which no kind is known: of
	 * all threads (not in external_s if the wait began before the part), and on the observed
	 * path.
	 */
	double border_s, segment_border_s;
	double parallelism;	/* work / wall */
	double max_parallelism; /* (work + service) / critical path */
	double utilization;	/* cpu of the run / (wall * cores) */
};

/* "service" ... */
const char *cpa_blocked_word(enum cpa_external_class class);

#endif
