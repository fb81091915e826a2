/* SPDX-License-Identifier: MIT */
/*
 * preload/clock/brief.h - the CPU time of brief calls, which is guessed and settled later: cpa_clock_stamp_call()
 */
#ifndef CPA_PRELOAD_CLOCK_BRIEF_H
#define CPA_PRELOAD_CLOCK_BRIEF_H

#include "preload/clock/clock.h"

/*
 * The thread had a processor for @ran ticks, all that it can have had since the last stamp, behind waits that were
 * guessed, and the kernel's clock shows @cpu ticks. What is more or less than @ran is the waits'. Else the activity
 * would lose what is less, and the next call that is measured would have what is more: the mean of these would
 * grow, and activities lose more.
 *
 * If a hypervisor took the processor for less time than was guessed, that is the activity's, too: nothing tells
 * the two apart.
 */
CPA_HIDDEN void cpa_brief_settle(struct cpa_clock *c, uint64_t cpu, uint64_t ran);

/* A wait was measured, and the kernel's clock shows @cpu ticks, less than was told: waits were guessed too high. */
CPA_HIDDEN void cpa_brief_return(struct cpa_clock *c, uint64_t cpu);

/* Nothing of the waits so far is to be settled. */
static inline void cpa_brief_forget(struct cpa_clock *c)
{
	c->guessed_waits.calls = 0;
	c->guessed_waits.ticks = 0;
	c->guessed_waits.others = 0;
}

#endif
