/* SPDX-License-Identifier: MIT */
/*
 * preload/core/region.h - regions and marks, for annotations (cpa.h)
 *
 * Each call but cpa_region_leave() is an event; it enters and leaves instrumentation code by itself,
 * keeps errno, and does nothing in a thread that is not profiled. @caller: return address in the
 * program.
 */
#ifndef CPA_PRELOAD_CORE_REGION_H
#define CPA_PRELOAD_CORE_REGION_H

#include "preload/core/guard.h"

CPA_HIDDEN void cpa_region_begin(const char *name, uint64_t caller);

/* End the region that the thread began last. */
CPA_HIDDEN void cpa_region_end(uint64_t caller);

/* The thread ends: count the regions that it is still in. Inside instrumentation code. */
CPA_HIDDEN void cpa_region_leave(struct cpa_worker *w);

CPA_HIDDEN void cpa_region_mark(const char *name, uint64_t caller);

#endif
