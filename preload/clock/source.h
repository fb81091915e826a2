/* SPDX-License-Identifier: MIT */
/*
 * preload/clock/source.h - the clock: time stamp counter, or CLOCK_MONOTONIC
 *
 * Ticks come from the counter as long as it keeps step with CLOCK_MONOTONIC_RAW on all processors
 * that read it. If it does not, or the kernel no longer trusts it, ticks are computed from
 * CLOCK_MONOTONIC at the rate that the counter had, from the last moment at which the counter was
 * right. All processes of a session change together.
 */
#ifndef CPA_PRELOAD_CLOCK_SOURCE_H
#define CPA_PRELOAD_CLOCK_SOURCE_H

#include "shadow/store/session.h"

/* Choose the source. Before the first reading of a clock. */
CPA_HIDDEN void cpa_source_begin(void);

/* Write the choice to the session. In the session's first process. */
CPA_HIDDEN void cpa_source_init(void);

/* Take over the session's choice. When a process joins, and from time to time after that. */
CPA_HIDDEN void cpa_source_follow(void);

/*
 * Compare both clocks if the last comparison was some 100 ms ago; change the source if they have run
 * apart. Does nothing while another thread compares.
 */
CPA_HIDDEN void cpa_source_check(void);

#endif
