/* SPDX-License-Identifier: MIT */
/*
 * preload/libc/confined.h - a filter of system calls that was there before us
 */
#ifndef CPA_PRELOAD_LIBC_CONFINED_H
#define CPA_PRELOAD_LIBC_CONFINED_H

#include "shadow/store/session.h"

/* Conditions under which the process starts. */
struct cpa_start {
	/*
	 * System calls are filtered, by a container or a service manager. An unusual system call may
	 * kill the process.
	 */
	bool confined;
	bool traced; /* by a debugger or strace, which stops the process at each signal */
};

CPA_HIDDEN struct cpa_start cpa_start(void);

#endif
