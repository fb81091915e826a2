/* SPDX-License-Identifier: MIT */
/*
 * preload/core/dlopen.h - libraries come and go
 *
 * What lay in a library that was unloaded is no more: its locks count as destroyed, and what other
 * libraries bring to the same addresses has classes, functions and sites of its own, by the layer
 * of their module (shadow/format/layout.h). What threads remember by address they forget.
 */
#ifndef CPA_PRELOAD_CORE_DLOPEN_H
#define CPA_PRELOAD_CORE_DLOPEN_H

#include "shadow/store/session.h"

/* Changes with every dlclose(): what was found may be gone, and other modules be in its place. */
extern CPA_HIDDEN uint32_t cpa_dlopen_generation;

/* Whether something was unloaded since @then, which is brought up to date. */
static inline bool cpa_dlopen_changed(uint32_t *then)
{
	/* Relaxed: who uses what was loaded since was told of it by other means. */
	uint32_t now = __atomic_load_n(&cpa_dlopen_generation, __ATOMIC_RELAXED);
	bool changed = *then != now;

	*then = now;
	return changed;
}

#endif
