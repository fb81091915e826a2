/* SPDX-License-Identifier: MIT */
/* analysis/build.h - what the stages of cpa_profile_build() hand to each other, in this order */
#ifndef CPA_ANALYSIS_BUILD_H
#define CPA_ANALYSIS_BUILD_H

#include "analysis/names.h"
#include "analysis/path.h"
#include "analysis/profile.h"

struct cpa_build {
	struct cpa_dump *dump;
	struct cpa_profile *profile;
	struct cpa_names names;
	double tick_s;			 /* seconds per tick */
	struct cpa_vector program;	 /* join of all paths; its observed path is the last one */
	uint64_t *total;		 /* [slots]: the threads' totals, ticks */
	uint64_t cpu, process, external; /* sums over threads, ticks */
	/* Sums of the threads' edge caches, by edge row - 1. */
	uint32_t edges;
	struct cpa_edge *edge;
};

/* threads.c: threads, all paths, totals and edge caches. */
void cpa_build_threads(struct cpa_build *build);
/* components.c: components and objects. */
void cpa_build_components(struct cpa_build *build);
void cpa_build_objects(struct cpa_build *build);
/* pag.c: nodes and edges of the PAG summary. cpa_build_mix adds a word {slot:16, weight:48}. */
void cpa_build_mix(struct cpa_edge *edge, uint64_t mix);
void cpa_build_pag(struct cpa_build *build);
/* notes.c: what went wrong. */
void cpa_build_diagnostics(struct cpa_build *build);

static inline double cpa_build_seconds(const struct cpa_build *build, uint64_t ticks)
{
	return (double)ticks * build->tick_s;
}

#endif
