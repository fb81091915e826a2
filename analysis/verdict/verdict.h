/* SPDX-License-Identifier: MIT */
/*
 * analysis/verdict/verdict.h - what limits a program, in words, and what to do next
 *
 * There is one verdict. It is the first row of the table in verdict_kinds.c whose condition holds;
 * verdict_kinds.h says how to add a row.
 *
 * All gains are computed with one bound. A run on P processors takes at least
 *
 *	max(L, W / P)		L: the critical path, W: all work
 *
 * so a change that shortens the path by g gains max(L, W / P) - max(L - g, W / P) at most.
 */
#ifndef CPA_ANALYSIS_VERDICT_VERDICT_H
#define CPA_ANALYSIS_VERDICT_VERDICT_H

#include "analysis/profile/profile.h"

struct cpa_verdict {
	const char *kind; /* its word, static storage: "lock", "serial" ... */
	char *doubt; /* why all that follows may be off, and by how much; NULL: no reason to doubt */
	char *sentence; /* what limits the program */
	char *action;	/* what to do next, and how much that gains at most */
	/*
	 * Which job was the last; in a sample of the run, that another component gains about as much; why the
	 * run took longer than that explains. NULL: none of them.
	 */
	char *beside;
	char *options;	 /* of cpa-report, quoted for a shell: to look closer */
	uint32_t slot;	 /* of the component that it names; 0: none */
	double path_s;	 /* the critical path, without waits that timed out if they hide it */
	double least_s;	 /* max(L, W / P) of the run */
	double after_s;	 /* the same after the change; least_s: not known, or no change */
	double others_s; /* processor time that other programs took, at least; 0: none known */
};

/* Judge @profile. The caller calls cpa_verdict_fini(). */
void cpa_verdict_init(struct cpa_verdict *verdict, const struct cpa_profile *profile);
void cpa_verdict_fini(struct cpa_verdict *verdict);

#endif
