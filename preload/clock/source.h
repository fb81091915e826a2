/* SPDX-License-Identifier: MIT */
/*
 * preload/clock/source.h - whether the time stamp counter is a clock, and what to use where it is not
 *
 * Ticks come from the counter, as long as it keeps step with CLOCK_MONOTONIC_RAW, on whichever
 * processors it is read. Where it does not, or the kernel trusts it no more, ticks are made of
 * CLOCK_MONOTONIC at the rate that the counter had: from the last moment on at which it was right.
 * All processes of a session follow.
 */
#ifndef CPA_PRELOAD_CLOCK_SOURCE_H
#define CPA_PRELOAD_CLOCK_SOURCE_H

#include "shadow/store/session.h"

/* Choose, before the first look at a clock. */
CPA_HIDDEN void cpa_source_begin(void);

/* Tell the session of the choice, in the process that makes it. */
CPA_HIDDEN void cpa_source_init(void);

/* Follow the session. At the start of a process that joins one, and now and then. */
CPA_HIDDEN void cpa_source_follow(void);

/*
 * Compare both clocks, some 100 ms after the last time; change if they have run apart. A thread that
 * finds another one at it does nothing.
 */
CPA_HIDDEN void cpa_source_check(void);

#endif
