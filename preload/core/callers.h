/* SPDX-License-Identifier: MIT */
/*
 * preload/core/callers.h - stacks of the calling thread
 *
 * The handler of the timer's signal follows the callers of what it interrupted (preload/unwind/walk.h)
 * and keeps them as a calling context of the session (shadow/graph/contexts.h). These stacks may take
 * 1/384 of the thread's CPU time: when they took more it does without, and the next one stands for the time
 * since the last. Where functions are divided by their callers they may take 1/96, and the first of an activity
 * is taken all the same. Stacks of waits and of first uses may take 1/768 of the CPU time of the process, after the
 * first FREE: a process may have very many short threads.
 *
 * What a walk learns of code holds for all threads. So its memory is that of a thread only meanwhile, and
 * there is as much as there were walks at once.
 */
#ifndef CPA_PRELOAD_CORE_CALLERS_H
#define CPA_PRELOAD_CORE_CALLERS_H

#include "preload/unwind/stack.h"
#include "shadow/graph/contexts.h"

/* What a thread keeps for its stacks. All zeros at first. */
struct cpa_callers_of {
	struct cpa_stack_own stack;
	/* CPU time, all and since the last stack; of all: taken for stacks. Ticks. */
	uint64_t time, since, cost;
	bool began;	 /* `waited` is set */
	uint64_t waited; /* ticks, towards its next stack of a wait */
	uint64_t earned; /* CPU time that stacks of waits have got their part of, ticks */
};

/* Once, at start. @on: stacks are wanted. */
CPA_HIDDEN void cpa_callers_init(bool on);
CPA_HIDDEN bool cpa_callers_on(void);

/* Once, in a session: functions are divided by so many callers, 0: they are not. That needs stacks. */
CPA_HIDDEN void cpa_callers_divide_by(uint32_t callers);
CPA_HIDDEN bool cpa_callers_divide(void);

/* The calling thread begins, on its own stack. */
CPA_HIDDEN void cpa_callers_begin(struct cpa_callers_of *own);

/*
 * Add the stack that a signal interrupted to @stacks; it stands for @ticks of CPU time, and for what came
 * before without a stack. @context: argument of the handler, which blocks all signals. Takes none where
 * cpa's own code was interrupted, or while a library is unloaded; @needed: takes one also if stacks took
 * too much. @own: of the calling thread. No lock, no memory but for that and rows of the session; errno is
 * changed.
 *
 * If functions are divided: return the id of the part that was interrupted, or of the function where its callers
 * are not known; 0: cpa's own code, or there is no stack just now, as stacks took too much or another thread
 * takes memory for one.
 */
CPA_HIDDEN uint32_t cpa_callers_take(struct cpa_callers_of *own, struct cpa_stacks *stacks,
				     const struct cpa_self *self, const void *context,
				     uint64_t ticks, bool needed);

/*
 * The calling thread, of @cpu ticks CPU time, has waited for @ticks at its last event. Inside our code
 * only. The first FREE waits of the process have a stack each. Once stacks take more than their part they
 * are apart, in time waited: each wait has one with a likelihood as its length. errno is kept.
 */
CPA_HIDDEN void cpa_callers_wait(struct cpa_callers_of *own, const struct cpa_self *self,
				 uint64_t cpu, uint64_t ticks);

/*
 * The calling thread is the first to use an object of class row @class. Inside our code only. errno is
 * kept.
 */
CPA_HIDDEN void cpa_callers_first(struct cpa_callers_of *own, uint32_t class);

/*
 * Whether the calling thread runs a signal handler, stacks wanted or not; true where that cannot be found
 * out. Frames that are not understood tell nothing. Inside our code only. errno is kept.
 */
CPA_HIDDEN bool cpa_callers_in_handler(void);

#endif
