/* SPDX-License-Identifier: MIT */
/* analysis/profile/build.h - data that the stages of cpa_profile_build() pass on, in this order */
#ifndef CPA_ANALYSIS_PROFILE_BUILD_H
#define CPA_ANALYSIS_PROFILE_BUILD_H

#include "analysis/symbols/names.h"
#include "analysis/input/path.h"
#include "analysis/profile/profile.h"
#include "shadow/store/epoch.h"

/* Figures of a thread row that several stages need; id 0: the row is unused. */
struct cpa_build_thread {
	uint64_t id;
	uint32_t tid;
	uint32_t slot;				    /* slot of the thread's class */
	uint64_t process, external, runqueue, wait; /* ticks */
	struct cpa_thread_point last;		    /* clock and sums at the last event */
};

struct cpa_build {
	struct cpa_dump *dump;
	struct cpa_profile *profile;
	struct cpa_names *names;
	double tick_s; /* seconds per tick */
	uint64_t end;  /* clock at the end of the profiled time, or at the last event */
	struct cpa_build_thread *thread; /* [rows of the threads table], by row - 1 */
	/* [rows of the threads table]: index + 1 of the process that a thread row is of; 0: none */
	uint32_t *process_of;
	struct cpa_vector program; /* join of all paths; observed: as observed.c says */
	/*
	 * Observed path with the most time that is not idle, which is `busy` ticks; its thread's
	 * id.
	 */
	struct cpa_vector busiest;
	uint64_t busy;
	uint32_t busiest_thread;
	bool last_ended;      /* that thread ended the run */
	uint32_t last_thread; /* id of the thread that ended the run, or had the last event */
	uint64_t *total;      /* [slots]: sum over the threads, ticks */
	uint64_t *path_share; /* [slots]: ticks on the critical path */
	uint64_t *error;      /* [slots]: largest error of the figures, ticks */
	bool *moved; /* [slots]: the slot was another component's before; its sums are subtracted */
	uint32_t *slot_kind;		 /* [slots]: enum cpa_component_kind */
	uint64_t cpu, process, external; /* sums over threads, ticks */
	uint64_t early; /* part of cpu from before the run, in the loader of the first program */
	uint32_t torn;	/* threads that stopped in the middle of an event */
	enum cpa_graph graph;
	/* Sums of the threads' edge caches, by edge row - 1; NULL if no edges are wanted. */
	uint32_t edges;
	struct cpa_edge *edge;
};

/* threads.c: fills in threads, path sums, totals and edge caches. */
void cpa_build_threads(struct cpa_build *build);
/*
 * threads.c: a thread that was killed behind a wait, before the event that ends it, has the length of that wait, and no
 * clock behind it. Take it from @thread: its times end with its last event.
 */
void cpa_build_settle(struct cpa_thread *thread);
/* observed.c: begin, add row @row, and choose the program's observed path. Called by threads.c. */
struct cpa_reading;
void cpa_build_observed_begin(struct cpa_build *build);
void cpa_build_observed_add(struct cpa_build *build, uint32_t row,
			    const struct cpa_reading *reading);
void cpa_build_observed_end(struct cpa_build *build);
/* processes.c: fills in processes. */
void cpa_build_processes(struct cpa_build *build);
void cpa_build_process_notes(struct cpa_build *build);
/* search_result.c: subtracts from a slot what its former users had, if the search moved it. */
void cpa_build_bases(struct cpa_build *build);
/* search_result.c: marks @figures of @row, which the search gave a slot of its own. */
void cpa_build_found(const struct cpa_build *build, const struct cpa_component *row,
		     struct cpa_component_figures *figures);
void cpa_build_search_notes(struct cpa_build *build);
/* modules.c: fills in modules; the module and offset of a component @figures of row @row. */
void cpa_build_modules(struct cpa_build *build);
void cpa_build_place(const struct cpa_build *build, const struct cpa_component *row,
		     struct cpa_component_figures *figures);
/*
 * Module and offset of the site of row @site. *@module 0: no module, and the offset is an address;
 * or, 0 as well, not known.
 */
void cpa_build_site(const struct cpa_build *build, uint32_t site, uint32_t *module,
		    uint64_t *offset);
void cpa_free_modules(struct cpa_profile *profile);
/* components.c: fills in components and lock classes. */
void cpa_build_components(struct cpa_build *build);
void cpa_build_objects(struct cpa_build *build);
/* contexts.c: fills in who called the functions. */
void cpa_build_contexts(struct cpa_build *build);
/*
 * context_tree.c: makes the contexts of their rows and of what is inlined, and returns the
 * innermost context of each stack, by row; 0: none. Called by contexts.c, which frees it.
 */
uint32_t *cpa_build_context_tree(struct cpa_build *build);
/* uses.c: fills in which code waited for objects and held them. After cpa_build_contexts(). */
void cpa_build_uses(struct cpa_build *build);
/* spin.c: fills in how much of the work waits for another thread. */
void cpa_build_spin(struct cpa_build *build);
/* blocked.c: divides the external time of the program into its classes. */
void cpa_build_blocked(struct cpa_build *build);
/* queues.c: fills in queues, by class. marks.c: fills in marks. */
void cpa_build_queues(struct cpa_build *build);
/* A quantile of @histogram [CPA_HISTOGRAM], ticks, with values spread evenly within a bucket. */
double cpa_build_quantile(const uint64_t *histogram, double part);
/* streams.c: fills in streams, by who writes and who reads. */
void cpa_build_streams(struct cpa_build *build);
void cpa_build_stream_notes(struct cpa_build *build);
void cpa_build_marks(struct cpa_build *build);
/* parts.c: fills in the profiled parts of the run and the run's length. */
void cpa_build_parts(struct cpa_build *build);
/*
 * For how many ticks profiling was on up to clock @ticks. Up to the oldest change that the file
 * keeps: estimated, as if it had been on evenly.
 */
uint64_t cpa_build_on(const struct cpa_build *build, uint64_t ticks);
/* margin_rows.c: fills in how sure the figures are. After all of the above. */
void cpa_build_margins(struct cpa_build *build);
/* Row of the class of queue row @queue in the components table; 0: none. */
uint32_t cpa_build_queue_class(const struct cpa_build *build, uint32_t queue);
/* pag.c: fills in nodes and edges of the activity graph. */
void cpa_build_pag(struct cpa_build *build);
/* notes.c: fills in the diagnostics. */
void cpa_build_diagnostics(struct cpa_build *build);

static inline double cpa_build_seconds(const struct cpa_build *build, uint64_t ticks)
{
	return (double)ticks * build->tick_s;
}

#endif
