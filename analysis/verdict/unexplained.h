/* SPDX-License-Identifier: MIT */
/*
 * analysis/verdict/unexplained.h - what cpa did not see of a run, and how far its figures may be
 * off
 *
 * Waits that nobody knows the end of hide dependencies: the true critical path may be longer, but
 * no longer than the run, nor than all work. Time that threads spin in a library of parallel work
 * counts as work: without it the path may be shorter.
 */
#ifndef CPA_ANALYSIS_VERDICT_UNEXPLAINED_H
#define CPA_ANALYSIS_VERDICT_UNEXPLAINED_H

#include "analysis/profile/profile.h"

/* Texts belong to the profile, or are static. */
struct cpa_unexplained_row {
	const char *
		what; /* kind of wait ("blocked"), "spinning", "busy waiting", "threads", "reads", or "end" */
	const char *
		by; /* of waits: the component of the threads; of busy waiting: where; of reads: kind of stream; or NULL */
	const char *
		library; /* file name of the module that started the threads, or spins; NULL: none */
	uint64_t count;	 /* of threads and reads; else 0 */
	double total_s; /* of all threads; of reads: that they were waited for; of the end: of the run */
};

struct cpa_unexplained {
	struct cpa_unexplained_row *row; /* in the order of `what`; waits by time, longest first */
	size_t rows;
	double lived_s;		    /* of all threads */
	double waited_s, spun_s;    /* of that */
	double path_s;		    /* waits on the observed path */
	double after_s;		    /* of a run whose end cpa did not see: after the last event */
	double longer_s, shorter_s; /* by which the critical path may be off at most */
	const char *spins_in;	    /* a library that threads spin in; NULL: none */
};

/* The caller calls cpa_unexplained_fini(). */
void cpa_unexplained_init(struct cpa_unexplained *unexplained, const struct cpa_profile *profile);
void cpa_unexplained_fini(struct cpa_unexplained *unexplained);

/* Whether @function is of a library whose threads spin: to make it cheaper is not up to the program. */
bool cpa_unexplained_spins(const struct cpa_profile *profile,
			   const struct cpa_component_figures *function);

/*
 * "for 34.0% of the threads' time (5.00 s) cpa did not see ...": what hides dependencies, and how
 * much longer the critical path may be, if more than a tenth of the threads' time or of the
 * observed path is unexplained; or that more than a tenth of the run came after the last event;
 * else NULL. The caller frees it.
 */
char *cpa_unexplained_reason(const struct cpa_unexplained *unexplained,
			     const struct cpa_profile *profile);

/*
 * "about 5.00 s of the critical path is in loops ...", if that is more than @share of the path; else NULL. The
 * caller frees it.
 */
char *cpa_unexplained_busy(const struct cpa_profile *profile, double share);

/*
 * That the figures may be off, by how much at most and because of what, if more than a tenth of the
 * threads' time or of a path is unexplained; else NULL. The caller frees it.
 */
char *cpa_unexplained_doubt(const struct cpa_unexplained *unexplained,
			    const struct cpa_profile *profile);

#endif
