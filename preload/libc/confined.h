/* SPDX-License-Identifier: MIT */
/*
 * preload/libc/confined.h - a filter of system calls that was there before us
 */
#ifndef CPA_PRELOAD_LIBC_CONFINED_H
#define CPA_PRELOAD_LIBC_CONFINED_H

#include "shadow/store/session.h"

/*
 * At start: whether system calls are filtered, by a container or a service manager. What an unusual
 * one leads to cannot be known: it may be the end.
 */
CPA_HIDDEN bool cpa_confined(void);

#endif
