/* SPDX-License-Identifier: MIT */
/*
 * shadow/graph/mix.h - the functions of an activity, learnt from samples
 *
 * Samples are rarer than activities, and counting them does not measure time. An activity with
 * samples is divided among the sampled functions. An activity without samples is divided like
 * earlier activities of about the same duration between the same two events: of the same thread, or
 * else of any thread (shadow/graph/mixes.h); failing that, it goes to a function that has had too little
 * (shadow/graph/owed.h).
 * Each activity is thus attributed when it ends. Carrying unsampled time to a later sample would
 * put it on another path when a join lies between; and zeroing, a minimum over paths, would be far
 * too low where threads are balanced, because one of them always still lacks its sample.
 *
 * Earlier activities are not weighted by how often their functions were sampled: most samples may
 * fall into long activities, all of which have some, and say nothing about short ones, few of which
 * have any. Instead each function has a credit, in time. On average the samples of a function stand
 * for its total time. Subtract the time that activities with samples were charged for it; the rest,
 * its credit, is its time in activities without samples. Long activities change no credit: none of
 * their length lacks a sample, and some of their samples belong to short activities just before
 * them, because a timer's sample comes late. When the sampling rate changes, the set of activities
 * without samples changes, so a thread's credit starts again. Where a thread has no credit, or its
 * samples do not cover all its time because the kernel's part may not be sampled, the credit of
 * other threads for the same functions is used, and only if that is missing, the numbers of samples.
 */
#ifndef CPA_SHADOW_GRAPH_MIX_H
#define CPA_SHADOW_GRAPH_MIX_H

#include "shadow/format/layout.h"

#define CPA_MIX_SHIFT 32
/* durations up to 2^CPA_MIX_SHORT ticks are class 0; each further class is twice as long */
#define CPA_MIX_SHORT 9u
#define CPA_MIX_LONG  4u /* sampler periods from which an activity is long */
/* number of samples of a function at which older ones start to fade */
#define CPA_MIX_FORGET (1 << 12)
#define CPA_MIX_MOST   (1 << 16) /* limit of a function's credit, at which credits are halved */
#define CPA_MIX_UNITS  64	 /* units of credit per sample */

/* Return the function id of @word: see shadow/graph/component.h. */
static inline uint32_t cpa_mix_function(uint64_t word)
{
	return (uint32_t)(word >> CPA_MIX_SHIFT);
}

static inline int32_t cpa_mix_samples(uint64_t word)
{
	return (int32_t)(word & CPA_MIX_SAMPLES);
}

/*
 * Return the credit; negative while activities with samples were charged more than the samples
 * stand for.
 */
static inline int32_t cpa_mix_credit(uint64_t word)
{
	return (int32_t)(uint32_t)word >> CPA_MIX_CREDIT;
}

static inline uint64_t cpa_mix_word(uint32_t function, int32_t samples, int32_t credit)
{
	return (uint64_t)function << CPA_MIX_SHIFT | (uint32_t)credit << CPA_MIX_CREDIT |
	       (uint32_t)samples;
}

/* Return the class of duration of an activity of @ticks process time. */
static inline unsigned cpa_mix_class(uint64_t ticks)
{
	unsigned log = 63u - (unsigned)__builtin_clzll(ticks | 1);

	if (log < CPA_MIX_SHORT)
		return 0;
	log = log - CPA_MIX_SHORT + 1;
	return log < CPA_MIX_CLASSES ? log : CPA_MIX_CLASSES - 1;
}

/*
 * Move the words with credit to the front of the @n words and set their weights for an activity
 * without samples. Return their number; *@sum: sum of the weights.
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

/*
 * As cpa_mix_credited(), but all words stay and the weights are numbers of samples. Return 0 if
 * there are no samples.
 */
static inline unsigned cpa_mix_sampled(const uint64_t word[], unsigned n, uint32_t weight[],
				       uint32_t *sum)
{
	*sum = 0;
	for (unsigned i = 0; i < n; i++)
		*sum += weight[i] = (uint32_t)cpa_mix_samples(word[i]);
	return *sum ? n : 0;
}

/* Remove the credit from a word that only the calling thread writes. */
static inline void cpa_mix_forgive(uint64_t *word)
{
	uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED); /* relaxed: see cpa_mix_add() */

	old &= ~((uint64_t)UINT32_MAX ^ CPA_MIX_SAMPLES);
	__atomic_store_n(word, old, __ATOMIC_RELAXED);
}

/*
 * Count @n samples of @function, and add @credit to its credit. If all words are taken, the one
 * with the fewest samples is replaced and its counts are kept (the space-saving counter of Metwally
 * et al., ICDT 2005). Racing calls may lose samples, of which there are many; they cannot tear a
 * word.
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
