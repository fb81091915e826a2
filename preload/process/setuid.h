/* SPDX-License-Identifier: MIT */
/*
 * preload/process/setuid.h - a thread becomes another user by syscall()
 */
#ifndef CPA_PRELOAD_PROCESS_SETUID_H
#define CPA_PRELOAD_PROCESS_SETUID_H

#include <stdbool.h>
#include <sys/syscall.h>

#include "shadow/store/session.h"

/* Whether system call @number makes the calling thread another user. */
static inline bool cpa_setuid_is_call(long number)
{
	return number == SYS_setuid || number == SYS_setreuid || number == SYS_setresuid;
}

/* Make that call, as syscall() does. */
CPA_HIDDEN long cpa_setuid_call(long number, const long argument[]);

#endif
