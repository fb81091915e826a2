/* SPDX-License-Identifier: MIT */
/*
 * preload/core/identity.h - which process of the session this one is
 */
#ifndef CPA_PRELOAD_CORE_IDENTITY_H
#define CPA_PRELOAD_CORE_IDENTITY_H

#include "shadow/store/session.h"

/* The process's row; 0: none. Its pid: that of whoever runs in our memory may be another. */
extern CPA_HIDDEN uint32_t cpa_process_number;
extern CPA_HIDDEN uint32_t cpa_process_pid;

/*
 * Whether the caller is that process, and not a child of vfork() in its memory. The first of a pid
 * namespace and its child that is the first of another are both 1.
 */
CPA_HIDDEN bool cpa_process_is_this(void);

/* Whether it has had any. */
extern CPA_HIDDEN bool cpa_process_has_children;

/* Whether the session is another process's, which began it. */
static inline bool cpa_process_is_child(void)
{
	return cpa_process_number > 1;
}

#endif
