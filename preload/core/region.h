/* SPDX-License-Identifier: MIT */
/*
 * preload/core/region.h - regions and marks, for annotations (cpa.h)
 *
 * As in preload/lib/queue.h, each call is an event that enters and leaves our code by itself.
 */
#ifndef CPA_PRELOAD_CORE_REGION_H
#define CPA_PRELOAD_CORE_REGION_H

#include "preload/core/worker.h"

CPA_HIDDEN void cpa_region_begin(const char *name, uint64_t caller);

/* The region that the thread began last ends. */
CPA_HIDDEN void cpa_region_end(uint64_t caller);

/* The thread ends, inside our code: regions it is still in are counted. */
CPA_HIDDEN void cpa_region_leave(struct cpa_worker *w);

CPA_HIDDEN void cpa_region_mark(const char *name, uint64_t caller);

#endif
