/* SPDX-License-Identifier: MIT */
/*
 * preload/process/limit.h - a process limits its address space
 */
#ifndef CPA_PRELOAD_PROCESS_LIMIT_H
#define CPA_PRELOAD_PROCESS_LIMIT_H

#include "shadow/store/session.h"

/* Make the system call @number, setrlimit or prlimit64, for the program. As syscall(). */
CPA_HIDDEN long cpa_limit_call(long number, const long argument[]);

#endif
