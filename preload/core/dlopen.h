/* SPDX-License-Identifier: MIT */
/*
 * preload/core/dlopen.h - libraries come and go
 *
 * Locks inside an unloaded library count as destroyed. A library that is loaded later at the same
 * addresses gets lock classes, functions and sites of its own, told apart by the layer of its module
 * (shadow/format/layout.h). Threads drop what they have cached by address.
 */
#ifndef CPA_PRELOAD_CORE_DLOPEN_H
#define CPA_PRELOAD_CORE_DLOPEN_H

#include "shadow/store/session.h"

/* Changes with every dlclose(), after which cached addresses may lie in another module. Atomic. */
extern CPA_HIDDEN uint32_t cpa_dlopen_generation;

/* Whether a library was unloaded since generation *@then. Sets *@then to the present one. */
static inline bool cpa_dlopen_changed(uint32_t *then)
{
	/* Relaxed: a user of a library loaded since has synchronized with its loader. */
	uint32_t now = __atomic_load_n(&cpa_dlopen_generation, __ATOMIC_RELAXED);
	bool changed = *then != now;

	*then = now;
	return changed;
}

/* In a child of fork(), which has no other threads. */
CPA_HIDDEN void cpa_dlopen_forked(void);

#endif
