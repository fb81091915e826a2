/* SPDX-License-Identifier: MIT */
/*
 * preload/process/seccomp.h - programs that give up what we live on
 */
#ifndef CPA_PRELOAD_PROCESS_SECCOMP_H
#define CPA_PRELOAD_PROCESS_SECCOMP_H

#include "shadow/store/session.h"

/*
 * The program is about to make the system call @number: end the profile if it is one after which
 * ours would harm it. Of other calls than prctl and seccomp @argument is not looked at.
 */
CPA_HIDDEN void cpa_seccomp_before_call(long number, const long argument[5]);

#endif
