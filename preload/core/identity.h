/* SPDX-License-Identifier: MIT */
/*
 * preload/core/identity.h - which process of the session this one is
 */
#ifndef CPA_PRELOAD_CORE_IDENTITY_H
#define CPA_PRELOAD_CORE_IDENTITY_H

#include "shadow/store/session.h"

/*
 * Process row, 0: none, and pid of the process that owns this memory. A child of vfork() runs in the
 * same memory and has another pid.
 */
extern CPA_HIDDEN uint32_t cpa_process_number;
extern CPA_HIDDEN uint32_t cpa_process_pid;

/*
 * Whether the caller is that process, and not a child of vfork() in its memory. The pid alone does
 * not tell: the first process of a pid namespace and its child, if first in another one, are both 1.
 */
CPA_HIDDEN bool cpa_process_is_this(void);

/* Whether the process has made a child. */
extern CPA_HIDDEN bool cpa_process_has_children;

/* Whether another process began the session. */
static inline bool cpa_process_is_child(void)
{
	return cpa_process_number > 1;
}

#endif
