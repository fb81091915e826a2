/* SPDX-License-Identifier: MIT */
/*
 * shadow/mix.h - which functions an activity consists of, learnt from samples
 *
 * Samples are rarer than activities, and they are no measure of time. An activity with samples is
 * spread over them. One without is spread like earlier activities of the same thread between the
 * same two events (else: of any thread between them; else: the thread's latest sample). So every
 * activity is attributed when it ends: carrying unsampled time to a later sample would put it on
 * another path when a join lies between, and zeroing, a minimum over paths, would come out far too
 * low where threads are balanced, because there is always one whose sample has not come yet.
 */
#ifndef CPA_SHADOW_MIX_H
#define CPA_SHADOW_MIX_H

#include "shadow/layout.h"

#define CPA_MIX_SHIFT  32
#define CPA_MIX_FORGET (UINT64_C(1) << 12) /* weight at which older samples begin to fade */

/* Its id: see shadow/component.h. */
static inline uint32_t cpa_mix_function(uint64_t word)
{
	return (uint32_t)(word >> CPA_MIX_SHIFT);
}

static inline uint64_t cpa_mix_sum(const uint64_t mix[CPA_MIX])
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < CPA_MIX; i++)
		sum += __atomic_load_n(&mix[i], __ATOMIC_RELAXED) & CPA_MIX_WEIGHT;
	return sum;
}

/*
 * Count @n samples of @function. When all words are taken the lightest is replaced and its weight
 * kept (the space-saving counter of Metwally et al., ICDT 2005). Racing adds may lose samples, of
 * which there are many; they cannot tear a word.
 */
static inline void cpa_mix_add(uint64_t mix[CPA_MIX], uint32_t function, uint32_t n)
{
	unsigned at = 0;
	uint64_t words[CPA_MIX], weight;

	for (unsigned i = 0; i < CPA_MIX; i++) {
		words[i] = __atomic_load_n(&mix[i], __ATOMIC_RELAXED);
		if (cpa_mix_function(words[i]) == function) {
			at = i;
			break;
		}
		if ((words[i] & CPA_MIX_WEIGHT) < (words[at] & CPA_MIX_WEIGHT))
			at = i;
	}
	weight = (words[at] & CPA_MIX_WEIGHT) + n;
	__atomic_store_n(&mix[at], (uint64_t)function << CPA_MIX_SHIFT | weight, __ATOMIC_RELAXED);
	if (weight < CPA_MIX_FORGET)
		return;
	for (unsigned i = 0; i < CPA_MIX; i++) {
		uint64_t word = __atomic_load_n(&mix[i], __ATOMIC_RELAXED);

		__atomic_store_n(&mix[i], (word & ~CPA_MIX_WEIGHT) | (word & CPA_MIX_WEIGHT) / 2,
				 __ATOMIC_RELAXED);
	}
}

#endif
