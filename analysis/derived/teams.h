/* SPDX-License-Identifier: MIT */
/*
 * analysis/derived/teams.h - parallel regions of OpenMP: how even the work of their threads is
 *
 * Work is process time and external time. A region's barriers cut what its threads do into rounds;
 * a construct is the rounds that end at one barrier of the program. Perfectly balanced, each thread
 * has the mean of the round's work. What a thread does in a region that it forks within another
 * counts in both.
 *
 * Efficiencies are those of POP (Performance Optimisation and Productivity, pop-coe.eu), as the
 * tool OTF-CPT names them. W: work of each of the n threads, L: the longest chain of that work, T:
 * the time from begin to end of the region's instances.
 *
 *	load balance            mean W / max W
 *	serialisation           max W / L       below 1: threads wait for each other in turn
 *	transfer                L / T           below 1: no processor, the runtime, the profiler
 *	communication           serialisation x transfer
 *	parallel efficiency     mean W / T = load balance x communication
 */
#ifndef CPA_ANALYSIS_DERIVED_TEAMS_H
#define CPA_ANALYSIS_DERIVED_TEAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpa_profile;

/* Each 0: not known. */
struct cpa_efficiency {
	double load_balance, serialisation, transfer;
};

struct cpa_team_thread {
	uint64_t id; /* struct cpa_thread_figures.id */
	uint32_t tid;
	double work_s;
	double wait_s; /* in the team's barriers */
};

/* A parallel region, or a construct of the region above it. */
struct cpa_team_figures {
	bool construct; /* else a region */
	char *name;
	char *location;
	uint32_t slot; /* of the region */
	uint64_t instances;
	double elapsed_s; /* T; 0 for a construct */
	double work_s, wait_s;
	double most_s, even_s;	 /* sums over rounds: of the most work, and of the mean */
	double chain_s;		 /* L */
	bool has_saved;		 /* the next is known: it is one component */
	double saved_s;		 /* what zeroing it takes off the critical path */
	double balanced_saved_s; /* what perfect balance takes off the critical path */
	struct cpa_efficiency efficiency;
	uint32_t threads;
	struct cpa_team_thread *thread; /* by work, most first */
};

struct cpa_teams {
	char *trouble;		     /* why there are no figures; NULL: there are */
	double parallel_s, serial_s; /* of the run: in a region, and outside all */
	double balanced_saved_s;     /* all regions balanced */
	uint32_t threads;
	struct cpa_efficiency efficiency; /* of the program, with all work of these threads */
	size_t rows;
	struct cpa_team_figures *row; /* regions by what balance saves, constructs behind each */
};

double cpa_efficiency_communication(const struct cpa_efficiency *efficiency);
double cpa_efficiency_parallel(const struct cpa_efficiency *efficiency);

/* The efficiencies of threads with @mean and @most work, a chain and a time, all in one unit. */
struct cpa_efficiency cpa_efficiency_of(double mean, double most, double chain, double elapsed);

struct cpa_component_figures;

/*
 * Threads of the parallel region @component, on average of its instances, counted without a
 * journal. 0: it is no region of OpenMP, or @profile has no edges.
 */
double cpa_teams_threads(const struct cpa_profile *profile,
			 const struct cpa_component_figures *component);

/* Whether @component is a kind of tasks of OpenMP. False if @profile has no edges. */
bool cpa_teams_are_tasks(const struct cpa_profile *profile,
			 const struct cpa_component_figures *component);

/*
 * "in solve() parallel at solve.c:88 thread 4711 works 2.28 s, the others 0.78 s on average; ...",
 * of a region with several threads. The caller frees it.
 */
char *cpa_teams_uneven(const struct cpa_team_figures *team);

/* Whether @profile has teams of OpenMP. */
bool cpa_teams_any(const struct cpa_profile *profile);

/*
 * Whether the threads of @class are the pool of an OpenMP runtime, and @profile has the teams of that runtime. The
 * regions say what such a thread has to do.
 */
bool cpa_teams_are_pool(const struct cpa_profile *profile,
			const struct cpa_component_figures *class);

/* @teams may be NULL. */
void cpa_teams_free(struct cpa_teams *teams);

#endif
