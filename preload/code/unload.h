/* SPDX-License-Identifier: MIT */
/*
 * preload/code/unload.h - how often libraries were unloaded, and none while a thread reads their tables
 *
 * A thread that unwinds a stack reads the tables of modules which need not be those of the running
 * code. A thread that unloads a library keeps new readers out, and lets those that are in finish.
 */
#ifndef CPA_PRELOAD_CODE_UNLOAD_H
#define CPA_PRELOAD_CODE_UNLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "shadow/store/session.h"

/* Grows with every dlclose(), after which cached addresses may lie in another module. Atomic. */
extern CPA_HIDDEN uint32_t cpa_unloads;

/* Whether a library was unloaded since cpa_unloads was *@then. Sets *@then to what it is. */
static inline bool cpa_unloads_changed(uint32_t *then)
{
	/* Relaxed: a user of a library loaded since has synchronized with its loader. */
	uint32_t now = __atomic_load_n(&cpa_unloads, __ATOMIC_RELAXED);
	bool changed = *then != now;

	*then = now;
	return changed;
}

/*
 * Whether no library is unloaded until cpa_unload_let(). Neither waits. While one is unloaded the loader
 * still finds it when its memory is gone. With all signals blocked only:
 * else a jump would keep the hold.
 */
CPA_HIDDEN bool cpa_unload_hold(void);
CPA_HIDDEN void cpa_unload_let(void);

/*
 * As cpa_unload_hold(), where @mine unloads of the calling thread go on: it is in a destructor, so no
 * memory goes while it reads.
 */
CPA_HIDDEN bool cpa_unload_hold_in(uint32_t mine);

/*
 * A library is about to be unloaded, until cpa_unload_end(); pairs nest, in several threads as well.
 * Waits for the readers: microseconds, or as long as one of them has lost its processor, but some
 * seconds at most. errno is kept.
 */
CPA_HIDDEN void cpa_unload_begin(void);
CPA_HIDDEN void cpa_unload_end(void);

/* In a child of fork(), which has no other threads; @mine: begun by this thread and not ended. */
CPA_HIDDEN void cpa_unload_forked(uint32_t mine);

#endif
