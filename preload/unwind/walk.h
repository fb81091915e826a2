/* SPDX-License-Identifier: MIT */
/*
 * preload/unwind/walk.h - the callers of an interrupted instruction, from inside its process
 *
 * Follows the modules' unwind tables, so that stripped programs without frame pointers are served.
 * Where no table covers an instruction the frame pointer leads on, as in code that a compiler made at
 * run time; from assembly by hand that was interrupted, a return address on top of the stack does.
 * Takes no lock, allocates nothing, calls nothing of the loader but _dl_find_object(), and reads tables of
 * loaded modules only, code in front of a return address, and the stack as preload/unwind/stack.h says: all
 * of it may be run in a signal handler.
 */
#ifndef CPA_PRELOAD_UNWIND_WALK_H
#define CPA_PRELOAD_UNWIND_WALK_H

#include "preload/unwind/frame_rule.h"

#define CPA_WALK_FRAMES 127u
#define CPA_WALK_RULES	256u /* a power of two */

/* What an instruction's table row says, if it is a usual one: preload/unwind/walk.c. */
struct cpa_walk_rule {
	uint64_t pc;		       /* 0: none */
	uint64_t function;	       /* where the function begins; 0: not known */
	int32_t offset;		       /* of the CFA */
	uint8_t base;		       /* register of the CFA */
	uint8_t how;		       /* how to get on: an enum of preload/unwind/walk.c */
	int16_t saved[CPA_ARCH_SAVED]; /* bytes from the CFA to each saved register; 0: not saved */
};

/* A frame of a stack. */
struct cpa_walk_frame {
	/* Where its function begins, or, if no table covers the frame, the page of its instruction. */
	uint64_t function;
	uint64_t call; /* last byte of its call of the next inner frame; 0: none, or no table covers it */
};

/* A thread's memory for walks: all zeros, or an earlier thread's. */
struct cpa_walk {
	struct cpa_stack_view stack;
	uint32_t frames; /* of the last walk: how many of `frame` are set */
	bool complete;	 /* the walk came to the thread's start */
	bool in_handler; /* it came to the kernel's call of a signal handler */
	struct cpa_walk_frame frame[CPA_WALK_FRAMES]; /* innermost first */
	/* What was learnt so far, until modules go: a stale rule may mislead a walk, and no more. */
	struct cpa_walk_rule rule[CPA_WALK_RULES];
	struct cpa_frame_program program;
};

/* Forget what was learnt of modules: one was unloaded, and others may lie in its place. */
__attribute__((visibility("hidden"))) void cpa_walk_forget(struct cpa_walk *walk);

/*
 * Find the frames of the calling thread, from the registers @from on. @own: the thread's own stack. Sets `frames`,
 * `frame`, `complete` and `in_handler`. No module may be unloaded meanwhile: cpa_unload_hold(). Makes system calls;
 * errno is changed.
 */
__attribute__((visibility("hidden"))) void
cpa_walk_from(struct cpa_walk *walk, struct cpa_stack_own own, const struct cpa_registers *from);

#endif
