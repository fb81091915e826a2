/* SPDX-License-Identifier: MIT */
/*
 * preload/core/computes.h - which threads compute for long between their events
 */
#ifndef CPA_PRELOAD_CORE_COMPUTES_H
#define CPA_PRELOAD_CORE_COMPUTES_H

#include "preload/core/worker.h"

/* Whether threads spin before they block on a mutex. Written before there are threads. */
extern CPA_HIDDEN bool cpa_looks_on;

/* Once the session exists. @look_on: spin if there is more than one processor. */
CPA_HIDDEN void cpa_looks_on_init(bool look_on);

/*
 * Whether the activities of the calling thread, with @w, take longer on average than the operations
 * of ours at both ends of one.
 */
CPA_HIDDEN bool cpa_computes(const struct cpa_worker *w);

/*
 * Publish cpa_computes() of the calling thread for other threads. Call it after a system call that
 * read the thread's time.
 */
CPA_HIDDEN void cpa_computes_note(const struct cpa_worker *w);

/*
 * What kernel thread @tid of this process published with cpa_computes_note(). A hint: threads may
 * share a slot. False for @tid 0, and most likely for a thread of another process.
 */
CPA_HIDDEN bool cpa_computes_other(int tid);

#endif
