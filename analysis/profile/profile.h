/* SPDX-License-Identifier: MIT */
/*
 * analysis/profile/profile.h - everything a report shows, computed from a session file
 *
 * Figures of each kind have a header of their own: components.h, processes.h, threads.h,
 * objects.h, queues.h, streams.h, modules.h; parts.h has marks as well, pag.h nodes and edges.
 *
 * Times are seconds. All texts are printable and belong to the profile; a location may be NULL.
 */
#ifndef CPA_ANALYSIS_PROFILE_PROFILE_H
#define CPA_ANALYSIS_PROFILE_PROFILE_H

#include "analysis/input/load.h"
#include "analysis/profile/diagnostics.h"
#include "analysis/profile/program.h"
#include "analysis/profile/spin.h"

struct cpa_component_figures;
struct cpa_contexts;
struct cpa_edge_figures;
struct cpa_histogram;
struct cpa_intervals;
struct cpa_lock_arrays;
struct cpa_mark_figures;
struct cpa_metrics;
struct cpa_module_figures;
struct cpa_names;
struct cpa_node_figures;
struct cpa_object_figures;
struct cpa_part_figures;
struct cpa_phases;
struct cpa_process_figures;
struct cpa_queue_figures;
struct cpa_stream_figures;
struct cpa_teams;
struct cpa_thread_figures;

/* Two components of one kind whose savings the windows do not tell apart. */
struct cpa_rivals {
	const struct cpa_component_figures *first, *second; /* NULL: there are none */
	double windows;					    /* about so many more would tell */
};

#define CPA_UNEVEN_MOST 3u

/*
 * Components whose share of the critical path is another one in the windows of a budget than in the run that they
 * stand for: evenness.h.
 */
struct cpa_uneven {
	size_t count;
	struct cpa_uneven_share {
		const struct cpa_component_figures *component;
		double in_windows, in_run;
	} most[CPA_UNEVEN_MOST]; /* those that differ most, most first */
};

struct cpa_profile {
	char *file; /* the dump; NULL: not known */
	struct cpa_program_figures program;
	double tick_s; /* seconds of a tick */
	size_t components, processes, threads, objects, queues, streams, marks, parts, nodes, edges,
		modules;
	struct cpa_component_figures *component; /* by saved_s, most first */
	struct cpa_process_figures *process;	 /* by row */
	struct cpa_thread_figures *thread;	 /* by row */
	struct cpa_object_figures *object;	 /* by wait_s, most first */
	struct cpa_lock_arrays *lock_arrays;	 /* lock_arrays.h */
	struct cpa_rivals rivals;		 /* the first two, if they are */
	struct cpa_uneven uneven;		 /* none if windows are spread evenly */
	struct cpa_queue_figures *queue;	 /* by saved_s, most first */
	struct cpa_stream_figures *stream;	 /* by the longer of its waits, longest first */
	size_t stream_rows;			 /* of the streams table; */
	uint32_t *stream_of;	       /* [row - 1]: index in `stream` + 1; 0: it carried nothing */
	double queues_at_s;	       /* of CLOCK_MONOTONIC: when their counters were read */
	struct cpa_mark_figures *mark; /* by time */
	struct cpa_part_figures *part; /* by time; none if the whole run was profiled */
	struct cpa_node_figures *node; /* by id */
	struct cpa_edge_figures *edge;
	struct cpa_module_figures *module; /* by row - 1 */
	struct cpa_intervals *intervals;
	struct cpa_spin_figures spin;
	struct cpa_contexts *contexts; /* contexts.h; NULL: no stacks were taken */
	/* Of whoever wants them, who frees them: metrics.h, phases.h, teams.h. NULL: nobody. */
	struct cpa_teams *teams;
	struct cpa_metrics *metrics;
	struct cpa_histogram *histogram;
	struct cpa_phases *phases;
	struct cpa_diagnostics_figures diagnostics;
};

/* How much of the activity graph a profile has. */
enum cpa_graph {
	CPA_GRAPH_NODES,  /* no edges, which may be many, and no sites */
	CPA_GRAPH_EDGES,  /* no sites, which may be many to look up, */
	CPA_GRAPH_STACKS, /* but those on stacks */
	CPA_GRAPH_LINES, /* ditto; calling contexts are divided by lines: analysis/profile/contexts.h */
	CPA_GRAPH_ALL,
};

/* Compute the profile; broken rows are counted in @dump. The caller frees it. */
struct cpa_profile *cpa_profile_build(struct cpa_dump *dump, enum cpa_graph graph);

/* The same with @names, which are up to date and which the caller keeps for the next time. */
struct cpa_profile *cpa_profile_build_named(struct cpa_dump *dump, struct cpa_names *names,
					    enum cpa_graph graph);
void cpa_profile_free(struct cpa_profile *profile);

/* The node of @id, NULL if there is none. */
const struct cpa_node_figures *cpa_profile_node(const struct cpa_profile *profile, uint32_t id);

/* The component of @kind with slot @slot, NULL if there is none. */
const struct cpa_component_figures *cpa_profile_component(const struct cpa_profile *profile,
							  uint32_t slot,
							  enum cpa_component_kind kind);

/* Append a sentence to the diagnostics. */
void cpa_profile_note(struct cpa_profile *profile, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
