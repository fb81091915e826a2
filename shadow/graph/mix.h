/* SPDX-License-Identifier: MIT */
/*
 * shadow/graph/mix.h - which functions an activity consists of, learnt from samples
 *
 * Samples are rarer than activities, and they are no measure of time. An activity with samples is
 * spread over them. One without is spread like earlier activities of the same thread between the
 * same two events (else: of any thread between them; else: the thread's latest sample). So every
 * activity is attributed when it ends: carrying unsampled time to a later sample would put it on
 * another path when a join lies between, and zeroing, a minimum over paths, would come out far too
 * low where threads are balanced, because there is always one whose sample has not come yet.
 *
 * Of what earlier activities consist is not how often their functions were sampled: most samples
 * may be of long activities, each of which has some, and tell nothing of short ones, few of which
 * have. What the samples of a function stand for is its time, in the mean, whatever the activities;
 * less what activities with samples were charged for it, that is the time that it had in those
 * without: its credit. Long activities count nothing there, as no other like them is without a
 * sample; a timer's comes late, so that they have some of the short ones before them. At another
 * rate other activities are without, and a thread's credit begins anew. Where there is none, or
 * samples do not stand for all of a time because the kernel's may not be taken, that of other
 * threads for the same functions tells more than the numbers of samples, which must do else.
 */
#ifndef CPA_SHADOW_GRAPH_MIX_H
#define CPA_SHADOW_GRAPH_MIX_H

#include "shadow/format/layout.h"

#define CPA_MIX_SHIFT  32
#define CPA_MIX_LONG   4u	 /* periods of the sampler */
#define CPA_MIX_FORGET (1 << 12) /* samples of a function at which older ones begin to fade, */
#define CPA_MIX_MOST   (1 << 16) /* and its credit, in such parts of one: */
#define CPA_MIX_UNITS  64

/* Its id: see shadow/graph/component.h. */
static inline uint32_t cpa_mix_function(uint64_t word)
{
	return (uint32_t)(word >> CPA_MIX_SHIFT);
}

static inline int32_t cpa_mix_samples(uint64_t word)
{
	return (int32_t)(word & CPA_MIX_SAMPLES);
}

/* Less than 0: activities with samples were charged more than these stand for, so far. */
static inline int32_t cpa_mix_credit(uint64_t word)
{
	return (int32_t)(uint32_t)word >> CPA_MIX_CREDIT;
}

static inline uint64_t cpa_mix_word(uint32_t function, int32_t samples, int32_t credit)
{
	return (uint64_t)function << CPA_MIX_SHIFT | (uint32_t)credit << CPA_MIX_CREDIT |
	       (uint32_t)samples;
}

/*
 * Of @n words those with credit, which come to the front, and their weights for an activity without
 * samples. Return how many. @sum: of the weights.
 */
static inline unsigned cpa_mix_credited(uint64_t word[], unsigned n, uint32_t weight[],
					uint32_t *sum)
{
	unsigned kept = 0;

	*sum = 0;
	for (unsigned i = 0; i < n; i++) {
		int32_t credit = cpa_mix_credit(word[i]);

		if (credit <= 0)
			continue;
		*sum += weight[kept] = (uint32_t)credit;
		word[kept++] = word[i];
	}
	return kept;
}

/* The same of all of them, by samples. 0: there are none. */
static inline unsigned cpa_mix_sampled(const uint64_t word[], unsigned n, uint32_t weight[],
				       uint32_t *sum)
{
	*sum = 0;
	for (unsigned i = 0; i < n; i++)
		*sum += weight[i] = (uint32_t)cpa_mix_samples(word[i]);
	return *sum ? n : 0;
}

/* Take the credit from a word of the calling thread's own. */
static inline void cpa_mix_forgive(uint64_t *word)
{
	uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED); /* see cpa_mix_add() */

	old &= ~((uint64_t)UINT32_MAX ^ CPA_MIX_SAMPLES);
	__atomic_store_n(word, old, __ATOMIC_RELAXED);
}

/*
 * Count @n samples of @function, and its @credit. When all words are taken the one with the fewest
 * samples is replaced and what it counted kept (the space-saving counter of Metwally et al., ICDT
 * 2005). Racing adds may lose samples, of which there are many; they cannot tear a word.
 */
static inline void cpa_mix_add(uint64_t mix[CPA_MIX], uint32_t function, uint32_t n, int32_t credit)
{
	uint64_t words[CPA_MIX];
	unsigned at = 0;
	int32_t samples;

	for (unsigned i = 0; i < CPA_MIX; i++) {
		words[i] = __atomic_load_n(&mix[i], __ATOMIC_RELAXED);
		if (cpa_mix_function(words[i]) == function) {
			at = i;
			break;
		}
		if (cpa_mix_samples(words[i]) < cpa_mix_samples(words[at]))
			at = i;
	}
	n = n < CPA_MIX_FORGET ? n : CPA_MIX_FORGET;
	samples = cpa_mix_samples(words[at]) + (int32_t)n;
	samples = samples < CPA_MIX_FORGET ? samples : CPA_MIX_FORGET;
	credit += cpa_mix_credit(words[at]);
	if (credit > CPA_MIX_MOST || credit < -CPA_MIX_MOST)
		credit = credit < 0 ? -CPA_MIX_MOST : CPA_MIX_MOST;
	__atomic_store_n(&mix[at], cpa_mix_word(function, samples, credit), __ATOMIC_RELAXED);
	if (samples < CPA_MIX_FORGET && credit < CPA_MIX_MOST && credit > -CPA_MIX_MOST)
		return;
	for (unsigned i = 0; i < CPA_MIX; i++) {
		uint64_t word = __atomic_load_n(&mix[i], __ATOMIC_RELAXED);

		word = cpa_mix_word(cpa_mix_function(word), cpa_mix_samples(word) / 2,
				    cpa_mix_credit(word) / 2);
		__atomic_store_n(&mix[i], word, __ATOMIC_RELAXED);
	}
}

#endif
