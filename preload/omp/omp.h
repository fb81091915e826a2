/* SPDX-License-Identifier: MIT */
/* preload/omp/omp.h - what the files of this folder have in common */
#ifndef CPA_PRELOAD_OMP_OMP_H
#define CPA_PRELOAD_OMP_OMP_H

#include "preload/omp/team.h"

/*
 * Whether the function at @address belongs to libomp: what it does is told by OMPT, or, if another
 * tool has that, not seen.
 */
CPA_HIDDEN bool cpa_ompt_has(const void *address);

/* The next region or task that OMPT tells the calling thread of is that of @function and @caller. */
CPA_HIDDEN void cpa_ompt_pass(uint64_t function, uint64_t caller);

/* Whether something was cancelled in this process, by a program of gcc. */
extern CPA_HIDDEN bool cpa_omp_cancelled;

/*
 * The turn in an ordered loop: pass it on, before the original; wait for it, which leaves; and have
 * it, behind the original.
 */
CPA_HIDDEN void cpa_turn_pass(uint64_t caller);
CPA_HIDDEN struct cpa_op cpa_turn_wait(uint64_t caller);
CPA_HIDDEN void cpa_turn_got(struct cpa_op *op);

#endif
