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
CPA_HIDDEN bool cpa_callers_on(void);

/* Memory of the calling thread, which begins; NULL: no stacks. Inside our code only. */
CPA_HIDDEN struct cpa_callers *cpa_callers_begin(void);
CPA_HIDDEN void cpa_callers_end(struct cpa_callers *callers);

/*
 * Add the stack that a signal interrupted to @stacks; it stands for @ticks. @context: argument of the
 * handler, which blocks all signals.
 */
CPA_HIDDEN void cpa_callers_take(struct cpa_callers *callers, struct cpa_stacks *stacks,
				 const void *context, uint64_t ticks);

#endif
