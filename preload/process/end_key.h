/* SPDX-License-Identifier: MIT */
/*
 * preload/process/end_key.h - the thread-specific key whose destructor tells us that a thread ends
 *
 * The program does not see the key: the C library hands out the lowest free number, and this key has
 * the number that a program's 32nd key would have. A program that makes as many keys as there may be
 * is given this one as well. From then on a thread ends for the profiler when its start routine
 * does, before its destructors, whose calls are not recorded.
 */
#ifndef CPA_PRELOAD_PROCESS_END_KEY_H
#define CPA_PRELOAD_PROCESS_END_KEY_H

#include "shadow/store/session.h"

/*
 * Once, at start. When a thread ends, @ended is called with the thread's value of
 * cpa_end_key_set(), once in each round of destructors before which the value was set again.
 */
CPA_HIDDEN void cpa_end_key_init(void (*ended)(void *));

/* Set the calling thread's value of the key; NULL: @ended is not called. */
CPA_HIDDEN void cpa_end_key_set(void *value);

/* Whether the program was given the key: threads end when their start routines do. */
CPA_HIDDEN bool cpa_end_key_is_lost(void);

#endif
