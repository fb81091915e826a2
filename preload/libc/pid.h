/* SPDX-License-Identifier: MIT */
/*
 * preload/libc/pid.h - which process a pid means
 *
 * A pid names one process after another, in a namespace. /proc tells the namespace and the start
 * time of a process. A process that started after another process read the pid is not the one which
 * that process meant.
 */
#ifndef CPA_PRELOAD_LIBC_PID_H
#define CPA_PRELOAD_LIBC_PID_H

#include <stdbool.h>
#include <stdint.h>

#include "shadow/store/session.h"

/* The pid namespace of the calling process: an inode, 0: not known. errno is kept. */
CPA_HIDDEN uint32_t cpa_pid_space(void);

/* CLOCK_BOOTTIME in ns, the clock of process start times; 0: not known. */
CPA_HIDDEN uint64_t cpa_pid_now_ns(void);

/*
 * Whether the calling process can have started before @seen_ns (CLOCK_BOOTTIME; 0: not known, and
 * the answer is true). The kernel tells start times to 10 ms: two processes with one pid that
 * started within 10 ms cannot be told apart.
 */
CPA_HIDDEN bool cpa_pid_is_since(uint64_t seen_ns);

#endif
