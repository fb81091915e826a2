/* SPDX-License-Identifier: MIT */
/*
 * analysis/derived/context_parts.h - functions, divided by who called them
 *
 * Each function is divided by its callers up to some distance. A part has the sums of its contexts,
 * so the parts of a function add up to what its contexts have. What is inlined in a function is
 * parts of it, called by it; callers beyond that are those of the function. So parts are the same
 * with debug information and without, only finer.
 */
#ifndef CPA_ANALYSIS_DERIVED_CONTEXT_PARTS_H
#define CPA_ANALYSIS_DERIVED_CONTEXT_PARTS_H

#include "analysis/profile/contexts.h"

struct cpa_context_part {
	const struct cpa_component_figures *function; /* whose code it is */
	const char *name;     /* the function's, or of one that is inlined in it, */
	const char *location; /* and where that is; NULL: not known */
	char *callers;	      /* "compare <- mergelines", the innermost first; empty: none */
	uint64_t stacks, of;  /* on the critical path; all of the function */
	double path_s, error_s, cpu_s; /* error_s: standard error of path_s */
	/*
	 * What the run would gain at most if the part cost nothing: not more than the part has of
	 * the path, nor than the whole function would save. Exact if the list is.
	 */
	double saved_most_s;
};

struct cpa_context_parts {
	size_t count;
	struct cpa_context_part *part; /* by path_s, most first */
	/*
	 * The run divided functions by as many callers: the parts are components, and figures are
	 * not by stacks.
	 */
	bool exact;
};

#define CPA_CALLERS_ALL UINT32_MAX

/* Divide by @callers callers at most. The caller frees it with cpa_context_parts_fini(). */
struct cpa_context_parts cpa_context_parts(const struct cpa_profile *profile, uint32_t callers);
void cpa_context_parts_fini(struct cpa_context_parts *parts);

#endif
