/* SPDX-License-Identifier: MIT */
/*
 * preload/libc/pid.h - which process a pid means
 *
 * A pid is a name in a namespace, of one process after another. Which namespace /proc tells, and
 * when the process began: if that was after somebody had seen the pid, he saw another one.
 */
#ifndef CPA_PRELOAD_LIBC_PID_H
#define CPA_PRELOAD_LIBC_PID_H

#include <stdbool.h>
#include <stdint.h>

#include "shadow/store/session.h"

/* The pid namespace of the calling process: an inode, 0: not known. errno is kept. */
CPA_HIDDEN uint32_t cpa_pid_space(void);

/* The time that others compare the begin of a process with: CLOCK_BOOTTIME. */
CPA_HIDDEN uint64_t cpa_pid_now_ns(void);

/*
 * Whether the calling process can have begun before @seen_ns; 0: that is not known. The kernel
 * tells it to 10 ms: of two processes of one pid that began so close to each other both can.
 */
CPA_HIDDEN bool cpa_pid_is_since(uint64_t seen_ns);

#endif
