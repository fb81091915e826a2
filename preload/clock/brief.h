/* SPDX-License-Identifier: MIT */
/*
 * preload/clock/brief.h - what calls had whose CPU time was guessed: cpa_clock_stamp_call()
 */
#ifndef CPA_PRELOAD_CLOCK_BRIEF_H
#define CPA_PRELOAD_CLOCK_BRIEF_H

#include "preload/clock/clock.h"

/*
 * The thread kept its processor for the last @wall ticks, behind waits that were guessed, and the kernel's clock
 * shows @cpu ticks: what is more or less than that is the waits'. Else the activity would lose what is less, and
 * the next call that is measured would have what is more: the mean of these would grow, and activities lose more.
 */
CPA_HIDDEN void cpa_brief_settle(struct cpa_clock *c, uint64_t cpu, uint64_t wall);

/* Nothing of the waits so far is to be settled. */
static inline void cpa_brief_forget(struct cpa_clock *c)
{
	c->guessed_waits.calls = 0;
	c->guessed_waits.ticks = 0;
}

#endif
