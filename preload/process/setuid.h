/* SPDX-License-Identifier: MIT */
/*
 * preload/process/setuid.h - a thread changes its user by syscall()
 */
#ifndef CPA_PRELOAD_PROCESS_SETUID_H
#define CPA_PRELOAD_PROCESS_SETUID_H

#include <stdbool.h>
#include <sys/syscall.h>

#include "shadow/store/session.h"

/* Whether system call @number changes the user of the calling thread. */
static inline bool cpa_setuid_is_call(long number)
{
	return number == SYS_setuid || number == SYS_setreuid || number == SYS_setresuid;
}

/* Make system call @number, of which cpa_setuid_is_call() is true. As syscall(). */
CPA_HIDDEN long cpa_setuid_call(long number, const long argument[]);

#endif
