/* SPDX-License-Identifier: MIT */
/*
 * preload/process/seccomp.h - programs that forbid themselves system calls
 */
#ifndef CPA_PRELOAD_PROCESS_SECCOMP_H
#define CPA_PRELOAD_PROCESS_SECCOMP_H

#include "shadow/store/session.h"

/*
 * The program is about to make system call @number. If a system call or a reading of the time stamp
 * counter by the profiler could kill the program after that, end the profile. @argument is read for
 * prctl and seccomp only.
 */
CPA_HIDDEN void cpa_seccomp_before_call(long number, const long argument[5]);

#endif
