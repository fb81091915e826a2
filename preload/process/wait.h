/* SPDX-License-Identifier: MIT */
/*
 * preload/process/wait.h - a thread waits for a child process
 */
#ifndef CPA_PRELOAD_PROCESS_WAIT_H
#define CPA_PRELOAD_PROCESS_WAIT_H

#include <sys/syscall.h>

#include "preload/core/op.h"

/*
 * A child that has ended: by pid, or if that is 0 by the token that the parent offered it. Of a child without
 * both, as of system() while profiling is off, it is known that it began after tick @since. Whose call was
 * @cancelled may have ended by itself, and not by the signal.
 */
struct cpa_child {
	uint32_t pid;
	uint32_t token;
	uint64_t since;
	bool cancelled;
};

/*
 * The thread returned from a call that may have blocked, otherwise for reason @kind. If a child ended
 * during the call, record a wait for that child, and return true. Else make no event, return false.
 */
CPA_HIDDEN bool cpa_child_block(struct cpa_worker *w, enum cpa_external kind, uint64_t caller);

/* In a child of fork(), where only the calling thread exists. */
CPA_HIDDEN void cpa_child_forked(void);

/* Before a call that may block: begin the wait. op.w is NULL if it is not recorded. */
CPA_HIDDEN struct cpa_op cpa_child_wait(uint64_t caller);

/*
 * After the call, whether it blocked or not: @child has ended with @status. @child NULL: the call
 * failed, or reported no ended child. errno is kept.
 */
CPA_HIDDEN void cpa_child_waited(struct cpa_op *op, const struct cpa_child *child, int status);

/*
 * System call @number, with arguments @a, that the program made by syscall(): a wait for a child, as
 * cpa_child_is_call() says. As wait4() and waitid(), but no cancellation point.
 */
CPA_HIDDEN long cpa_child_call(long number, const long a[], uint64_t caller);

static inline bool cpa_child_is_call(long number)
{
	return number == SYS_wait4 || number == SYS_waitid;
}

#endif
