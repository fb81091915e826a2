/* SPDX-License-Identifier: MIT */
/* preload/core/sleeps.h - whether a thread does little but sleep */
#ifndef CPA_PRELOAD_CORE_SLEEPS_H
#define CPA_PRELOAD_CORE_SLEEPS_H

#include <stdbool.h>
#include <stdint.h>

#define CPA_SLEEPS_FEW	  4u	 /* so many in a row are no loop */
#define CPA_SLEEPS_LITTLE 10u	 /* work is little if it is less than such a part of the sleep */
#define CPA_SLEEPS_RECENT 8u	 /* sleeps that the sums are of */
#define CPA_SLEEPS_OWN	  30000u /* ns: CPU time that a sleep itself takes, at most */

/* Of one thread. All zero before its first sleep. */
struct cpa_sleeps {
	uint64_t process; /* CPU time of its activities up to the last sleep, ticks */
	/* ticks of work between sleeps, and of sleeps: sums over the last ones */
	uint64_t busy, slept;
	uint32_t rounds; /* sleeps in a row with little work in between */
};

/*
 * The thread has used @busy ticks of CPU time since its last sleep, with the one that ends now, and slept for
 * @slept ticks. @own: CPA_SLEEPS_OWN in ticks, which are no work: a thread that sleeps as briefly as it can would
 * seem to work for a third of the time. Return whether it is idle: in a loop that does little but sleep.
 */
static inline bool cpa_sleeps_are_idle(struct cpa_sleeps *s, uint64_t busy, uint64_t slept,
				       uint64_t own)
{
	busy = busy > own ? busy - own : 0;
	s->busy += busy - s->busy / CPA_SLEEPS_RECENT;
	s->slept += slept - s->slept / CPA_SLEEPS_RECENT;
	if (busy < slept / CPA_SLEEPS_LITTLE || s->busy < s->slept / CPA_SLEEPS_LITTLE)
		s->rounds++;
	else
		s->rounds = 0;
	return s->rounds > CPA_SLEEPS_FEW;
}

#endif
