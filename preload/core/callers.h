/* SPDX-License-Identifier: MIT */
/*
 * preload/core/callers.h - stacks of the calling thread
 *
 * The handler of the timer's signal follows the callers of what it interrupted (preload/unwind/walk.h)
 * and keeps them as a calling context of the session (shadow/graph/contexts.h). A setting,
 * CPA_STACKS=1, asks for it.
 */
#ifndef CPA_PRELOAD_CORE_CALLERS_H
#define CPA_PRELOAD_CORE_CALLERS_H

#include "shadow/graph/contexts.h"

struct cpa_callers;

/* What a thread keeps for its stacks. All zeros at first. */
struct cpa_callers_of {
	uint64_t top;		    /* end of its own stack; 0: not known */
	struct cpa_callers *memory; /* NULL: it took no stack so far */
};

/* Once, at start. @on: stacks are wanted. */
CPA_HIDDEN void cpa_callers_init(bool on);
CPA_HIDDEN bool cpa_callers_on(void);

/* The calling thread begins, on its own stack. */
CPA_HIDDEN void cpa_callers_begin(struct cpa_callers_of *own);

/*
 * Add the stack that a signal interrupted to @stacks; it stands for @ticks of CPU time. @context: argument
 * of the handler, which blocks all signals. Takes none where cpa's own code was interrupted, or while a
 * library is unloaded. @own: of the calling thread. No lock, no memory but for that and rows of the
 * session; errno is changed.
 */
CPA_HIDDEN void cpa_callers_take(struct cpa_callers_of *own, struct cpa_stacks *stacks,
				 const void *context, uint64_t ticks);

/* The thread ends: its memory, if it has some, goes to the pool. Inside our code only. */
CPA_HIDDEN void cpa_callers_end(struct cpa_callers_of *own);

#endif
