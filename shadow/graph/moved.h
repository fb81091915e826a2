/* SPDX-License-Identifier: MIT */
/*
 * shadow/graph/moved.h - modules loaded at another address than their rows say
 *
 * The rows of a session name code and data by their addresses in the process that met the module
 * first. Other programs of the session load the same libraries at other addresses, as do repeated
 * runs of one program. Before a process interns an address it therefore translates it to the
 * address in the module's row. The process that began the session, and those forked from it,
 * translate nothing.
 */
#ifndef CPA_SHADOW_GRAPH_MOVED_H
#define CPA_SHADOW_GRAPH_MOVED_H

#include "shadow/store/session.h"

/* Not 0: some modules of this process are translated. */
extern CPA_HIDDEN uint32_t cpa_moved_any;

/*
 * Record that module row @module, not 0, lies @by bytes above the address in its row. Any thread.
 */
CPA_HIDDEN void cpa_moved_set(uint32_t module, uint64_t by);

CPA_HIDDEN uint64_t cpa_moved_slow(uint64_t address, uint32_t module);

/* Return @address, in module row @module (0: none), as rows name it. */
static inline uint64_t cpa_moved(uint64_t address, uint32_t module)
{
	/* Relaxed: the thread that uses the address has looked up the module before. */
	return likely(!__atomic_load_n(&cpa_moved_any, __ATOMIC_RELAXED)) ?
		       address :
		       cpa_moved_slow(address, module);
}

#endif
