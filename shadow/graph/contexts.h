/* SPDX-License-Identifier: MIT */
/*
 * shadow/graph/contexts.h - stacks of samples, and the paths that they are on
 *
 * A stack is kept as a node of the tree of calling contexts (shadow/format/layout_stack.h), and as a
 * row of its own on the path of the thread that took it. Rows are linked backwards, and a path names
 * its latest one. So copies and joins of paths cost nothing more, and at the end the stacks on the
 * critical path are those that can be reached from its path: each counts there with the CPU time
 * that it stands for. What is on the path does not depend on where samples fell, so the sum for a
 * context has its share of the path on average, and an error of about the square root of its number
 * of stacks.
 *
 * The kernel looks at timers at its own ticks, so a signal comes late, perhaps in the next activity.
 * Of activities that end with a wait that is more than of others, and waits are not on the path: the
 * error would have a sign. So an activity that is as long as the timer's period divides its own time
 * among its stacks, and without one all of it goes to the context of the thread's latest stack.
 *
 * Memory is bounded: once there are CPA_STACKS_KEPT rows, only every second further stack gets a row, which
 * stands for two; after as many more, every fourth, and so on. All functions are async-signal-safe; a
 * struct cpa_stacks is used by its thread alone, and by signal handlers while that is not inside our code.
 */
#ifndef CPA_SHADOW_GRAPH_CONTEXTS_H
#define CPA_SHADOW_GRAPH_CONTEXTS_H

#include "shadow/store/self.h"

#define CPA_STACKS_KEPT (1u << 18)

/* Stacks of a thread that are on no path yet. All zeros: none. */
struct cpa_stacks {
	uint32_t first, last; /* rows; 0: none */
	uint32_t spare;	      /* rows that can be used again */
	uint32_t turn;	      /* stacks so far, to keep each n-th */
	uint32_t latest;      /* context of the latest stack; 0: there was none */
	uint32_t latest_at;   /* row of the site of its instruction */
	uint32_t rows;	      /* from first to last, */
	uint64_t sum;	      /* and the ticks that they stand for */
	uint64_t period;      /* of the timer, ticks */
};

/* Return the node of the call, or the function, of site row @site in context @caller; 0: no space. */
CPA_HIDDEN uint32_t cpa_context(uint32_t caller, uint32_t site);

/* Return the node for callers that are not known; 0: no space. */
CPA_HIDDEN uint32_t cpa_context_cut(void);

/*
 * Return the root of functions that are divided by their callers; @all: none is above these. 0: no space.
 */
CPA_HIDDEN uint32_t cpa_context_parts(bool all);

/*
 * A stack in @context, not 0, stands for @ticks of use @kind of objects of class row @class. What finds
 * no space is not counted.
 */
CPA_HIDDEN void cpa_context_use(uint32_t context, enum cpa_use_kind kind, uint32_t class,
				uint64_t ticks);

/*
 * A stack in @context, not 0, at the instruction of site row @at, or 0, stands for @ticks of CPU time: count
 * it, and add it to @stacks.
 */
CPA_HIDDEN void cpa_stacks_add(struct cpa_stacks *stacks, uint32_t context, uint32_t at,
			       uint64_t ticks);

/* Forget the stacks: they fell where there is no activity. */
CPA_HIDDEN void cpa_stacks_drop(struct cpa_stacks *stacks);

/*
 * Append the stacks to @path, which the caller owns: those of an activity of @process ticks of CPU time.
 */
CPA_HIDDEN void cpa_stacks_put(struct cpa_stacks *stacks, struct cpa_path *path, uint64_t process);

#endif
