/* SPDX-License-Identifier: MIT */
/*
 * shadow/heap.h - memory of many sizes inside the session: versions and totals
 *
 * A private jemalloc whose extents come from cpa_session_alloc(); the target's malloc is never
 * involved. Extents are never given back to the session, jemalloc uses them again. Calls may
 * overlap. Not for use in a signal handler that interrupted one of them: see preload/guard.h.
 */
#ifndef CPA_SHADOW_HEAP_H
#define CPA_SHADOW_HEAP_H

#include "shadow/session.h"

/* Set up the arena of a fresh session. Return 0 or -errno. */
CPA_HIDDEN int cpa_heap_init(void);

/* @size zeroed bytes, or NULL. */
CPA_HIDDEN void *cpa_heap_alloc(size_t size);
CPA_HIDDEN void cpa_heap_free(void *p);

#endif
