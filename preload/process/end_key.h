/* SPDX-License-Identifier: MIT */
/*
 * preload/process/end_key.h - the thread-specific key whose destructor tells us that a thread ends
 *
 * A program sees nothing of it. It has a number that only the 32nd key of a program would have, as
 * the C library gives the lowest free one. A program that makes all keys which there may be gets
 * this one, too. From then on a thread ends for us when its start routine does, before its
 * destructors, and what those do passes through.
 */
#ifndef CPA_PRELOAD_PROCESS_END_KEY_H
#define CPA_PRELOAD_PROCESS_END_KEY_H

#include "shadow/store/session.h"

/*
 * Once, at start: let @ended be called with what a thread has set, when it ends, in each round of
 * its destructors in which that is set anew.
 */
CPA_HIDDEN void cpa_end_key_init(void (*ended)(void *));

/* Let the calling thread have @value. */
CPA_HIDDEN void cpa_end_key_set(void *value);

/* Whether nothing tells of the ends of threads but the return of their start routines. */
CPA_HIDDEN bool cpa_end_key_is_lost(void);

#endif
