/* SPDX-License-Identifier: MIT */
/*
 * shadow/graph/moved.h - addresses of modules that lie elsewhere in the process that made their rows
 *
 * The rows of a session name code and data by addresses of the process that met the module first.
 * Other programs of the session have the same libraries at other addresses, and one program run
 * many times is many times elsewhere. So what a process interns it first moves to where the
 * module's row says it is. A process that began the session, or was forked by such, has moved none.
 */
#ifndef CPA_SHADOW_GRAPH_MOVED_H
#define CPA_SHADOW_GRAPH_MOVED_H

#include "shadow/store/session.h"

/* Not 0: some were, in this process. */
extern CPA_HIDDEN uint32_t cpa_moved_any;

/* Module row @module, not 0, is @by bytes above where the row says. Any thread. */
CPA_HIDDEN void cpa_moved_set(uint32_t module, uint64_t by);

CPA_HIDDEN uint64_t cpa_moved_slow(uint64_t address, uint32_t module);

/* @address, of module row @module or 0, as rows name it. */
static inline uint64_t cpa_moved(uint64_t address, uint32_t module)
{
	/* Relaxed: the thread that uses the address has found the module. */
	return likely(!__atomic_load_n(&cpa_moved_any, __ATOMIC_RELAXED)) ?
		       address :
		       cpa_moved_slow(address, module);
}

#endif
