/* SPDX-License-Identifier: MIT */
/*
 * analysis/exact/stints.h - what each thread of an OpenMP team did between two barriers
 *
 * A stint is the work of one thread in one instance of a parallel region, from its begin or a
 * barrier to the next barrier or its end. Tasks that a thread runs in a barrier belong to the stint
 * that ends there. The stints of a team with the same number of barriers before them are a round.
 *
 * A thread that forks a team within a region has stints of both at the same time. A strand is a
 * thread of the journal; times are ticks of the journal's clock.
 */
#ifndef CPA_ANALYSIS_EXACT_STINTS_H
#define CPA_ANALYSIS_EXACT_STINTS_H

#include "analysis/input/journal.h"

struct cpa_stint {
	cpa_event_name team; /* its fork */
	uint32_t round;	     /* barriers of the team before it */
	uint32_t strand;
	uint32_t region; /* row of the components table; 0: not known */
	uint32_t node;	 /* row of the barrier at which it ends; 0: the end of the region */
	/* Its activities end with the events of the thread behind `after`, up to `last`. */
	uint32_t after, last;
	uint64_t begun;	  /* clock where it begins */
	uint64_t unready; /* ticks until then in which its thread waited for a processor, or more */
	uint64_t work;	  /* weight of its activities, ticks */
	uint64_t arrived; /* clock where it ends */
	uint64_t wait;	  /* from `arrived` on, for the rest of the team, ticks */
};

/* An instance of a region. */
struct cpa_team_span {
	cpa_event_name team; /* its fork */
	uint32_t region;
	uint64_t from, to; /* clock: from the fork to where the master goes on */
};

struct cpa_stints {
	size_t stints, teams;
	struct cpa_stint *stint;    /* by strand, then by `after` */
	struct cpa_team_span *team; /* by name */
	size_t *first;		    /* [strands + 1]: first stint of each strand */
	uint64_t *work;		    /* [strands]: all work of the thread */
};

/* Read the journal @file. The caller calls cpa_stints_free(). */
struct cpa_stints *cpa_stints_read(const struct cpa_journal_file *file);
void cpa_stints_free(struct cpa_stints *stints);

/* All stints, those of a round together. The caller frees it. */
const struct cpa_stint **cpa_stints_by_round(const struct cpa_stints *stints);

/* The number of stints of the round that begins at @order, where @left are left. */
size_t cpa_stint_round(const struct cpa_stint **order, size_t left);

/* The mean work of each stint's round, by stint, ticks. The caller frees it. */
double *cpa_stint_means(const struct cpa_stints *stints);

/*
 * What an activity of @ticks weighs that ends with event @number of @stint, with @mean as its work:
 * a stint that has more loses the same part of each activity, one that has less gets the rest at
 * its end.
 */
uint64_t cpa_stint_balanced(const struct cpa_stint *stint, double mean, uint32_t number,
			    uint64_t ticks);

#define CPA_STINTS_OPEN 16u /* regions in each other; of more the innermost are left out */

/* Looks up the stints of events, in the order of the threads' events. */
struct cpa_stint_finder {
	const struct cpa_stints *stints;
	struct cpa_stints_at {
		size_t next;	       /* stint */
		uint32_t number, open; /* event that was asked for last; entries of `stint` */
		size_t stint[CPA_STINTS_OPEN]; /* outermost first */
	} * at;				       /* by strand */
};

void cpa_stint_finder_init(struct cpa_stint_finder *finder, const struct cpa_stints *stints,
			   size_t strands);
void cpa_stint_finder_fini(struct cpa_stint_finder *finder);

/*
 * The stints of the activity that ends with event @number of @strand. A @number that is smaller
 * than the last one begins the strand anew.
 */
const struct cpa_stints_at *cpa_stints_of(struct cpa_stint_finder *finder, size_t strand,
					  uint32_t number);

#endif
