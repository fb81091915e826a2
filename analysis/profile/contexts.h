/* SPDX-License-Identifier: MIT */
/*
 * analysis/profile/contexts.h - who called a function, on the critical path
 *
 * The stacks on the path (shadow/graph/contexts.h) divide it among calling contexts. How much of
 * the path a function has is known better than by its stacks: its contexts get shares of that, as
 * many of it as they have of the function's stacks. So the contexts of a function add up to its
 * time. Functions without a component of their own get what their stacks stand for, and together at
 * most what the others leave: all contexts never have more than the path, without what it was
 * blocked for.
 */
#ifndef CPA_ANALYSIS_PROFILE_CONTEXTS_H
#define CPA_ANALYSIS_PROFILE_CONTEXTS_H

#include "analysis/profile/profile.h"

/* A function called in a context. Figures are of stacks that end here, without what it called. */
struct cpa_context_figures {
	uint32_t caller; /* number of the caller's context, from 1; less than its own; 0: none */
	uint32_t depth;	 /* callers above it */
	uint32_t module; /* as in struct cpa_component_figures */
	uint64_t offset;
	char *name;
	char *location;
	char *inlined; /* its name, if its code is part of that of `caller`; NULL: it has its own */
	const struct cpa_component_figures *component; /* whose code it is; NULL: none */
	/*
	 * With CPA_GRAPH_LINES a context is divided: where in it calls are, or stacks end.
	 * "/src/queue.c:88"; NULL: not known, then the address, as the module's file has addresses;
	 * 0: not known either.
	 */
	char *line;
	uint64_t at;
	uint64_t stacks; /* on the critical path */
	double path_s, cpu_s;
};

struct cpa_contexts {
	size_t count;
	struct cpa_context_figures *context; /* by number - 1 */
	uint32_t *of_row; /* of each row of the session's contexts: number, the innermost; 0: none */
	/*
	 * All that were taken; of these: not followed to the thread's start, on the critical path.
	 */
	uint64_t stacks, cut, on_path;
	double cost_s; /* time that it took to take them */
	size_t uses;   /* uses.h */
	struct cpa_use_figures *use;
};

/* A part of a function's time by who called it: a tree, from the function outwards. */
struct cpa_callers {
	const struct cpa_context_figures *context; /* one of those with this function */
	uint64_t stacks;
	double path_s, cpu_s;
	size_t callers; /* by path_s, most first */
	struct cpa_callers *caller;
};

/* Order of code by its place. */
int cpa_compare_places(uint32_t module_a, uint64_t offset_a, uint32_t module_b, uint64_t offset_b);

/*
 * "main", or with lines "main at queue.c:88", "main at 0x1234"; of a function without a symbol,
 * "sort+0x9a00", that is "sort+0x9ac5". The caller frees it.
 */
char *cpa_context_label(const struct cpa_context_figures *context);

/* NULL is allowed. */
void cpa_contexts_free(struct cpa_contexts *contexts);

/*
 * The callers of @component, or of the function that it is a part of, as those of one function
 * without callers of its own at the root. What is inlined in it is a part of it. The caller frees
 * it with cpa_callers_free().
 */
struct cpa_callers *cpa_callers_of(const struct cpa_contexts *contexts,
				   const struct cpa_component_figures *component);

/*
 * Its callers are @component and the functions inlined in it, each without what is inlined in it,
 * and with its own callers.
 */
struct cpa_callers *cpa_callers_of_parts(const struct cpa_contexts *contexts,
					 const struct cpa_component_figures *component);

/* As cpa_callers_of(), for the function @name where it is inlined, with what is inlined in it. */
struct cpa_callers *cpa_callers_of_inlined(const struct cpa_contexts *contexts, const char *name);
void cpa_callers_free(struct cpa_callers *callers);

/*
 * Error of the share @part / @all of stacks, as a share: one standard deviation of a binomial
 * count, by Laplace's estimate of its probability.
 */
double cpa_callers_error(uint64_t part, uint64_t all);

#endif
