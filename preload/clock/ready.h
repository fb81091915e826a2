/* SPDX-License-Identifier: MIT */
/*
 * preload/clock/ready.h - of the time that a thread had no processor, in which it was ready to run
 */
#ifndef CPA_PRELOAD_CLOCK_READY_H
#define CPA_PRELOAD_CLOCK_READY_H

#include "preload/clock/clock.h"

/* Ticks, set once at start. */
extern CPA_HIDDEN uint64_t cpa_ready_brief;  /* shorter gaps are not asked about one by one, */
extern CPA_HIDDEN uint64_t cpa_ready_unread; /* as long as they have this together */
extern CPA_HIDDEN uint64_t
	cpa_ready_switch; /* upper bound of a switch's cost, cold caches included */

/* Once the machine was measured. */
CPA_HIDDEN void cpa_ready_init(void);

/* The path of the run begins. May change errno. */
CPA_HIDDEN void cpa_ready_begin(void);

/*
 * For the thread that called cpa_ready_begin(): let its clock, which has just been started, begin now.
 * Return the ticks since then in which the thread was ready without a processor; 0: not known.
 */
CPA_HIDDEN uint64_t cpa_ready_since_begin(struct cpa_clock *c);

/* Read the thread's counts of switches. */
CPA_HIDDEN void cpa_ready_count(struct cpa_clock *c);

/* The thread was ready for @ticks: the kernel's delay has them, too. */
CPA_HIDDEN void cpa_ready_taken(struct cpa_clock *c, uint64_t ticks);

/* Whether a short gap of @ticks more need not be asked about. */
static inline bool cpa_ready_is_brief(const struct cpa_clock *c, uint64_t ticks)
{
	return c->unread + c->taken + ticks < cpa_ready_unread;
}

/*
 * Of a @gap in ticks without a processor, up to @now, return the ticks in which the thread was ready to run.
 * The rest it was blocked.
 *
 * Asking the kernel costs more than a microsecond. So nothing is asked about short waits (@blocked)
 * and blocks until they add up to a millisecond, with short preemptions, whose delay is known; the
 * gap that comes then gets its share of the rest of the delay.
 *
 * A thread that did not give its processor up was not blocked, whatever the delay: some kernels
 * (seen: 6.18) miss a part of it. They do not miss half of what it has beyond a switch, which
 * decides where the counts of switches do not.
 */
CPA_HIDDEN uint64_t cpa_ready_part(struct cpa_clock *c, uint64_t gap, bool blocked, uint64_t now);

#endif
