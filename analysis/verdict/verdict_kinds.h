/* SPDX-License-Identifier: MIT */
/*
 * analysis/verdict/verdict_kinds.h - the table of the kinds of verdict
 *
 * To add a kind:
 *
 * 1. Write its condition in the file of its family, below. It gets the facts. If it holds, it sets the
 *    verdict's sentence and action, and slot, options and after_s if they are known, and returns true.
 * 2. Add its row to cpa_verdict_kinds. The first row that holds wins: first come the kinds that say
 *    why the critical path is no answer, then the processors, then the parts of the path, the more
 *    special before the more general.
 * 3. Use figures that do not depend on what else the machine does: the critical path, work,
 *    savings, counts; not the wall time, the run queue or the observed path as it is.
 * 4. Add a program with a known answer to examples/, its row to tests/e2e/verdicts.py, cases to
 *    tests/unit/test_verdict.c, and a paragraph to docs/reading-a-report.md.
 *
 * A sentence names the thing, its time and the whole that it is part of. An action says what to
 * change and the bound of the gain, and never contradicts another sentence of the report.
 */
#ifndef CPA_ANALYSIS_VERDICT_VERDICT_KINDS_H
#define CPA_ANALYSIS_VERDICT_VERDICT_KINDS_H

#include "analysis/derived/teams.h"
#include "analysis/profile/processes.h"
#include "analysis/verdict/unexplained.h"
#include "analysis/verdict/verdict.h"

#define CPA_SHARE_GAIN 0.10 /* of the path: a structure that gains less is none */

/* The threads of one component. */
struct cpa_verdict_class {
	const struct cpa_component_figures *component;
	uint32_t threads;
	double work_s;				   /* process and service time of all */
	double slept_s;				   /* of that: in sleeps */
	double most_s;				   /* of the one with most */
	const struct cpa_process_figures *busiest; /* its process, if known; or NULL */
	/*
	 * One thread; or their lives add up to no more than the time from the first begin to the last end,
	 * as those of programs that are started in turn.
	 */
	bool in_turn;
	bool apart; /* each is in a process of its own */
};

/* Parallel regions of OpenMP: the one whose threads share their work worst, and those of one thread. */
struct cpa_verdict_region {
	const struct cpa_component_figures *component; /* NULL: none */
	const struct cpa_team_figures *team;	       /* of it, from a journal; NULL: not known */
	double threads;				       /* on average */
	double gain_s;				       /* what perfect balance takes off the path */
	double all_s;				       /* the same of all regions at once */
	double serial_s;			       /* of the path, outside all regions; */
	double tasks_s; /* in tasks: if any, serial_s is the most it can be */
	double spun_s; /* of the path: in the runtime, where a master waits for its team; not in serial_s */
	const struct cpa_component_figures *alone; /* with most of the path, of one thread */
	double alone_s;				   /* of the path, in all of one thread */
};

struct cpa_facts {
	const struct cpa_profile *profile;
	struct cpa_unexplained unexplained;
	double processors;
	double path_s; /* critical path */
	double work_s;
	double capacity_s; /* work_s / processors */
	double least_s;	   /* max(path_s, capacity_s) */
	/* What each structure of the path costs; 0: none. */
	const struct cpa_component_figures *lock;
	const struct cpa_queue_figures *queue;
	const struct cpa_stream_figures *stream;   /* whose limiting side has most of the path */
	const struct cpa_component_figures *stage; /* the class of threads at that side */
	struct cpa_verdict_class uneven, serial;
	struct cpa_verdict_region region;
	const struct cpa_component_figures *serial_function; /* NULL: none of theirs stands out */
	/* Of contexts outside parallel regions, by stacks. NULL: not known. */
	const struct cpa_component_figures *outside;
	double outside_s;
	double unknown_s; /* path of classes of whose threads some are not known */
	double lock_gain_s, queue_gain_s, uneven_gain_s, serial_gain_s;
};

#define CPA_SHARE_HANDOFFS 0.20 /* much, of the observed path without waits for processors */
#define CPA_WORTH_A_WAKE_S \
	100e-6 /* as much work as that is worth a wake, however long wakes took */

struct cpa_verdict_kind {
	const char *word;
	const char *options; /* of cpa-report, to look closer, unless the kind sets others */
	bool (*holds)(const struct cpa_facts *facts, struct cpa_verdict *verdict);
};

/* Find the function with most of the path outside parallel regions. */
void cpa_verdict_find_outside(struct cpa_facts *facts);

/* Conditions. verdict_unseen.c: what cpa did not see. */
bool cpa_verdict_is_unseen(const struct cpa_facts *facts, struct cpa_verdict *verdict);
/* verdict_blocked.c: blocked outside synchronization. */
bool cpa_verdict_is_idle(const struct cpa_facts *facts, struct cpa_verdict *verdict);
bool cpa_verdict_is_io(const struct cpa_facts *facts, struct cpa_verdict *verdict);
bool cpa_verdict_is_asleep(const struct cpa_facts *facts, struct cpa_verdict *verdict);
/* verdict_locks.c: locks, and threads that wake each other. */
bool cpa_verdict_is_handoffs(const struct cpa_facts *facts, struct cpa_verdict *verdict);
bool cpa_verdict_is_lock(const struct cpa_facts *facts, struct cpa_verdict *verdict);
/* verdict_stages.c: those that pass work on, by queues, pipes and connections. */
bool cpa_verdict_is_queue(const struct cpa_facts *facts, struct cpa_verdict *verdict);
bool cpa_verdict_is_stage(const struct cpa_facts *facts, struct cpa_verdict *verdict);
/* verdict_regions.c: parallel regions of OpenMP. */
bool cpa_verdict_is_short_regions(const struct cpa_facts *facts, struct cpa_verdict *verdict);
bool cpa_verdict_is_region(const struct cpa_facts *facts, struct cpa_verdict *verdict);
/* verdict_threads.c: how work is divided among threads. */
bool cpa_verdict_is_imbalance(const struct cpa_facts *facts, struct cpa_verdict *verdict);
bool cpa_verdict_is_turns(const struct cpa_facts *facts, struct cpa_verdict *verdict);
bool cpa_verdict_is_serial(const struct cpa_facts *facts, struct cpa_verdict *verdict);
/* verdict_work.c: how much work there is. */
bool cpa_verdict_is_processors(const struct cpa_facts *facts, struct cpa_verdict *verdict);
bool cpa_verdict_is_work(const struct cpa_facts *facts, struct cpa_verdict *verdict);

/* Ends with a row that always holds. */
extern const struct cpa_verdict_kind cpa_verdict_kinds[];

#endif
