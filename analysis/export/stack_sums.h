/* SPDX-License-Identifier: MIT */
/*
 * analysis/export/stack_sums.h - the frames of a profile below their callers
 *
 * Where stacks were taken, path and CPU time of a function are divided among its calling contexts.
 * Its other times are known for the function alone, which then is the only frame. The sum of a
 * weight is that of analysis/export/frames.h.
 */
#ifndef CPA_ANALYSIS_EXPORT_STACK_SUMS_H
#define CPA_ANALYSIS_EXPORT_STACK_SUMS_H

#include "analysis/export/frames.h"
#include "analysis/profile/contexts.h"

/* What a frame of a stack is. The texts belong to the profile or its frames. */
struct cpa_stack_name {
	const char *name, *location; /* location: or NULL */
	uint32_t module;	     /* number in the profile, from 1; 0: not known */
	uint64_t offset; /* where the function begins, or of the frame if that is known by no line; or 0 */
	uint32_t function; /* index of the name that is the whole function, perhaps this one */
	const char *line;  /* "/src/queue.c:88", where in it this frame is; NULL: not known */
};

struct cpa_stack_times {
	size_t frame;	  /* index of the frame that the time is of, */
	uint32_t context; /* number of its context, or one inlined in it, from 1; 0: not known */
	uint64_t weight_ns[CPA_WEIGHTS];
};

struct cpa_stack_sums {
	struct cpa_frames frames;
	const struct cpa_contexts *contexts; /* or NULL */
	size_t names; /* the first ones are those of `frames`, in their order */
	struct cpa_stack_name *name;
	uint32_t *name_of; /* of a context, by number - 1 */
	size_t count;
	struct cpa_stack_times *stack;
};

/* @stacks borrows from @profile. */
void cpa_stack_sums_init(struct cpa_stack_sums *stacks, const struct cpa_profile *profile);
void cpa_stack_sums_fini(struct cpa_stack_sums *stacks);

/*
 * Store the names of @stack, the outermost first, in @to, which has room for CPA_STACK_MOST. Return
 * their number, at least 1.
 */
#define CPA_STACK_MOST 1024u
size_t cpa_stack_sums_names(const struct cpa_stack_sums *stacks,
			    const struct cpa_stack_times *stack, uint32_t *to);

#endif
