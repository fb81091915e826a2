/* SPDX-License-Identifier: MIT */
/* analysis/profile/build.h - what the stages of cpa_profile_build() hand to each other, in this order */
#ifndef CPA_ANALYSIS_PROFILE_BUILD_H
#define CPA_ANALYSIS_PROFILE_BUILD_H

#include "analysis/symbols/names.h"
#include "analysis/input/path.h"
#include "analysis/profile/profile.h"
#include "shadow/store/epoch.h"

/* What others ask of a thread row; id 0: the row is unused. */
struct cpa_build_thread {
	uint64_t id;
	uint32_t tid;
	uint32_t slot;				    /* of its class */
	uint64_t process, external, runqueue, wait; /* ticks */
	struct cpa_thread_point last;		    /* as the samples of shadow/graph/series.h */
};

struct cpa_build {
	struct cpa_dump *dump;
	struct cpa_profile *profile;
	struct cpa_names *names;
	double tick_s; /* seconds per tick */
	uint64_t end;  /* clock at the end of what was profiled, or at the last event */
	struct cpa_build_thread *thread; /* [rows of the table], by row - 1 */
	struct cpa_vector program;	 /* join of all paths; its observed path is the last one */
	uint64_t *total;		 /* [slots]: the threads' totals, ticks */
	uint64_t *path_share;		 /* [slots]: of the critical path, whoever had the slot */
	uint64_t *error;		 /* [slots]: most that the figures may be off, ticks */
	uint32_t *slot_kind;		 /* [slots]: enum cpa_component_kind */
	uint64_t cpu, process, external; /* sums over threads, ticks */
	uint32_t torn;			 /* threads that were in the middle of an event */
	enum cpa_graph graph;
	/* Sums of the threads' edge caches, by edge row - 1; none if edges are not wanted. */
	uint32_t edges;
	struct cpa_edge *edge;
};

/* threads.c: threads, all paths, totals and edge caches. */
void cpa_build_threads(struct cpa_build *build);
/* processes.c: processes. */
void cpa_build_processes(struct cpa_build *build);
void cpa_build_process_notes(struct cpa_build *build);
/* found.c: what a slot had before the search gave it to others leaves the figures. */
void cpa_build_bases(struct cpa_build *build);
/* The same: @row, alone in its slot, was found by the search. */
void cpa_build_found(const struct cpa_build *build, const struct cpa_component *row,
		     struct cpa_component_figures *figures);
void cpa_build_search_notes(struct cpa_build *build);
/* components.c: components and objects. */
void cpa_build_components(struct cpa_build *build);
void cpa_build_objects(struct cpa_build *build);
/* queues.c: queues, by class. marks.c: marks. */
void cpa_build_queues(struct cpa_build *build);
void cpa_build_marks(struct cpa_build *build);
/* parts.c: parts of the run, and its length. */
void cpa_build_parts(struct cpa_build *build);
/* The component row of the queue in row @queue, 0 if there is none. */
uint32_t cpa_build_queue_class(const struct cpa_build *build, uint32_t queue);
/* pag.c: nodes and edges of the PAG summary. */
void cpa_build_pag(struct cpa_build *build);
/* notes.c: what went wrong. */
void cpa_build_diagnostics(struct cpa_build *build);

static inline double cpa_build_seconds(const struct cpa_build *build, uint64_t ticks)
{
	return (double)ticks * build->tick_s;
}

#endif
