/* SPDX-License-Identifier: MIT */
/*
 * preload/process/wait.h - a thread waits for a child process
 */
#ifndef CPA_PRELOAD_PROCESS_WAIT_H
#define CPA_PRELOAD_PROCESS_WAIT_H

#include "preload/core/op.h"

/* A child that is no more: by what the kernel said, else by what it was given to begin after. */
struct cpa_child {
	uint32_t pid;
	uint32_t token;
};

/*
 * The thread comes back from a call that may have blocked, for reason @kind: if a child ended
 * meanwhile it waited for that, and depends on it. Return false if none has: there is no event.
 */
CPA_HIDDEN bool cpa_child_block(struct cpa_worker *w, enum cpa_external kind, uint64_t caller);

/* In a child, which has one thread. */
CPA_HIDDEN void cpa_child_forked(void);

/* Before a call that may block: the wait has begun, unless it is not recorded. */
CPA_HIDDEN struct cpa_op cpa_child_wait(uint64_t caller);

/*
 * After a wait, or a call that did not block: @child is no more, with @status; NULL: the call
 * failed, or told something else. errno is kept.
 */
CPA_HIDDEN void cpa_child_waited(struct cpa_op *op, const struct cpa_child *child, int status);

#endif
