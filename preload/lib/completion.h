/* SPDX-License-Identifier: MIT */
/*
 * preload/lib/completion.h - who waits for all the work that was given to others
 *
 * Beside the items: a program that waits until a pool of threads has done everything, without
 * being told of each item, depends on the last thing that each of them did.
 */
#ifndef CPA_PRELOAD_LIB_COMPLETION_H
#define CPA_PRELOAD_LIB_COMPLETION_H

#include "preload/core/worker.h"

/* The thread has done a piece of the work of @of. An event; errno is kept. */
CPA_HIDDEN void cpa_completion_offer(const void *of, uint64_t caller);

/* All work of @of is done, nobody offers any more: the thread depends on all of it. So above. */
CPA_HIDDEN void cpa_completion_join(const void *of, uint64_t caller);

#endif
