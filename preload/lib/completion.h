/* SPDX-License-Identifier: MIT */
/*
 * preload/lib/completion.h - a wait for all work of a thread pool
 *
 * In addition to queue items: a program that waits until a pool has done all its work, without a
 * signal for each item, depends on the last piece of work of each pool thread.
 */
#ifndef CPA_PRELOAD_LIB_COMPLETION_H
#define CPA_PRELOAD_LIB_COMPLETION_H

#include "preload/core/guard.h"

/* The calling thread has done a piece of work of pool @of. An event; errno is kept. */
CPA_HIDDEN void cpa_completion_offer(const void *of, uint64_t caller);

/*
 * All work of pool @of is done, and no thread calls cpa_completion_offer() for it: the calling thread
 * depends on all of that work. An event; errno is kept.
 */
CPA_HIDDEN void cpa_completion_join(const void *of, uint64_t caller);

#endif
