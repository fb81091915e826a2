/* SPDX-License-Identifier: MIT */
/*
 * shadow/format/layout_stack.h - who called whom: stacks of samples; part of shadow/format/layout.h
 */
#ifndef CPA_SHADOW_FORMAT_LAYOUT_STACK_H
#define CPA_SHADOW_FORMAT_LAYOUT_STACK_H

#include <stdint.h>

/*
 * A node of the tree of calling contexts: the call at row `site` in the table of sites, or the function that
 * begins there, called in context `caller`, 0 at a thread's start. Stacks end in functions; those of waits,
 * and of what stands for the same, in calls of the function that waited. key: {caller:32, site:32}.
 */
struct cpa_context {
	uint64_t key;
	uint64_t ticks; /* atomic: CPU time of activities that stacks which end here stand for */
};

#define CPA_CONTEXT_CUT (UINT64_C(1) << 32) /* key of the node that stands for unknown callers */

/*
 * Keys of two more roots: below them are the functions that struct cpa_component.context divides, called by
 * functions. They hold no stacks. Of PARTS all callers are known up to the thread's start; above those of
 * PARTS_CUT are others.
 */
#define CPA_CONTEXT_PARTS     (UINT64_C(2) << 32)
#define CPA_CONTEXT_PARTS_CUT (UINT64_C(3) << 32)

/*
 * A stack: written by the thread that took it, then constant. `before`: the stack before it on the
 * path, 0: none. So those on a path are the ones from path.stack on backwards. Each stands for `ticks`
 * of CPU time; one with 0 was dropped. `at`: row in the table of sites of the instruction that was to run
 * next, 0: not known. key: 1 + context.
 */
struct cpa_stack {
	uint64_t key;
	uint32_t before;
	uint32_t at;
	uint64_t ticks;
};

enum cpa_use_kind {
	CPA_USE_WAIT = 1, /* it waited for such an object; ticks waited */
	CPA_USE_HOLD = 2, /* it held such a lock; ticks of CPU time, or waited for something else */
	CPA_USE_FIRST = 3, /* it was the first to use such an object */
};

/*
 * What a context did with the objects of a class, as far as stacks tell; counters are atomic. key:
 * {kind:2, class:30, context:32}; class: row of a component.
 */
struct cpa_use {
	uint64_t key;
	uint64_t ticks; /* that its stacks stand for */
	uint64_t stacks;
};

#endif
