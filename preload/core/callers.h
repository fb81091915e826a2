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

/* Once, at start. @on: stacks are wanted. */
CPA_HIDDEN void cpa_callers_init(bool on);
/* Whether stacks are taken: they are wanted, and no filter of system calls was there at the start. */
CPA_HIDDEN bool cpa_callers_on(void);

/*
 * Memory of the calling thread, which begins; NULL: no stacks. The thread owns it until
 * cpa_callers_end(), which gives it to the pool; NULL is allowed there. Inside our code only.
 */
CPA_HIDDEN struct cpa_callers *cpa_callers_begin(void);
CPA_HIDDEN void cpa_callers_end(struct cpa_callers *callers);

/*
 * Add the stack that a signal interrupted to @stacks; it stands for @ticks of CPU time. @context: argument
 * of the handler, which blocks all signals. Takes none where cpa's own code was interrupted, or while a
 * library is unloaded. @callers may be NULL. No lock, no memory but rows of the session; errno is changed.
 */
CPA_HIDDEN void cpa_callers_take(struct cpa_callers *callers, struct cpa_stacks *stacks,
				 const void *context, uint64_t ticks);

#endif
