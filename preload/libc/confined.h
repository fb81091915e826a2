/* SPDX-License-Identifier: MIT */
/*
 * preload/libc/confined.h - a filter of system calls that was there before us
 */
#ifndef CPA_PRELOAD_LIBC_CONFINED_H
#define CPA_PRELOAD_LIBC_CONFINED_H

#include "shadow/store/session.h"

/* Under what the process starts. */
struct cpa_start {
	/*
	 * System calls are filtered, by a container or a service manager. What an unusual one leads
	 * to cannot be known: it may be the end.
	 */
	bool confined;
	bool traced; /* a debugger runs it, or strace: there each signal stops it */
};

CPA_HIDDEN struct cpa_start cpa_start(void);

#endif
