/* SPDX-License-Identifier: MIT */
/*
 * preload/sync/barrier.h - shared by pthread barriers and those of OpenMP's teams
 */
#ifndef CPA_PRELOAD_SYNC_BARRIER_H
#define CPA_PRELOAD_SYNC_BARRIER_H

#include "preload/core/op.h"

/* Lives on the stack of the calling thread. */
struct cpa_barrier_op {
	struct cpa_op op;
	struct cpa_worker *w; /* also while profiling is off: all arrivals count */
	struct cpa_object *o;
	uint32_t class, members; /* class row of its events; threads that it waits for */
	enum cpa_event_kind arrive, leave;
	bool counted; /* arrivals make up the rounds; else `round` is given */
	uint64_t round;
};

/*
 * Before the original: arrive. @b is filled, but for the worker in `op`. Inside our code, entered by
 * cpa_enter_any(); leaves.
 */
CPA_HIDDEN void cpa_barrier_begin(struct cpa_barrier_op *b);

/* After it. The barrier itself may be gone, its memory another's: the shadow @o stays. */
CPA_HIDDEN void cpa_barrier_end(struct cpa_barrier_op *b);

#endif
