/* SPDX-License-Identifier: MIT */
/* preload/process/exit.c - ends of the process that run no destructors */
#include <stdlib.h>
#include <unistd.h>

#include "preload/process/life.h"
#include "preload/libc/real.h"
#include "shadow/arch/arch.h"

CPA_EXPORT void _exit(int status)
{
	cpa_life_end();
	REAL(_exit)(status);
	__builtin_unreachable();
}

CPA_EXPORT void _Exit(int status)
{
	_exit(status);
}

/* Handlers that the program registers with at_quick_exit() run after the profile has ended. */
CPA_EXPORT void quick_exit(int status)
{
	cpa_life_end();
	REAL(quick_exit)(status);
	__builtin_unreachable();
}

CPA_OLDER(quick_exit, CPA_ARCH_GLIBC_QUICK_EXIT); /* with destructors of thread-local objects */
void quick_exit_older(int status)
{
	cpa_life_end();
	REAL_VERSION(quick_exit, CPA_ARCH_GLIBC_QUICK_EXIT)(status);
	__builtin_unreachable();
}
