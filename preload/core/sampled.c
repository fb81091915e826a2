/* SPDX-License-Identifier: MIT */
#include "preload/core/sampled.h"

/* Add the weight to that of @function, if that has a place. Return whether it has. */
static bool add_to(struct cpa_sampler *s, uint32_t function, uint32_t weight)
{
	for (unsigned i = 0; i < s->pending; i++) {
		if (s->sample[i].function == function) {
			s->sample[i].count += weight;
			return true;
		}
	}
	return false;
}

void cpa_sampled_add(struct cpa_sampler *s, uint32_t function, uint32_t weight)
{
	if (likely(add_to(s, function, weight)))
		return;
	if (s->pending == CPA_SAMPLED - cpa_callers_divide()) {
		/*
		 * No room: the function with the fewest samples gives its place, with its samples,
		 * to the new one. Of parts, which are many, each would come to have as many: these
		 * samples are of none, and have a place of their own.
		 */
		unsigned least = 0;

		for (unsigned i = 1; i < s->pending; i++)
			least = s->sample[i].count < s->sample[least].count ? i : least;
		if (cpa_callers_divide()) {
			s->lost += s->sample[least].count;
			s->sample[least].count = 0;
		}
		s->sample[least].function = function;
		s->sample[least].count += weight;
		return;
	}
	s->sample[s->pending++] = (struct cpa_sampled){ function, weight };
}

/* Divide among the activity's parts what stands for none of them. */
static void share(struct cpa_sampler *s)
{
	uint64_t sum = 0, rest = s->unknown, part;

	for (unsigned i = 0; i < s->pending; i++)
		sum += s->sample[i].count;
	for (unsigned i = 0; i < s->pending && rest; i++) {
		part = rest * s->sample[i].count / sum;
		sum -= s->sample[i].count;
		rest -= part;
		s->sample[i].count += (uint32_t)part;
	}
}

void cpa_sampled_end(struct cpa_sampler *s)
{
	if (unlikely(s->lost) && !add_to(s, CPA_SLOT_UNSAMPLED, s->lost))
		s->sample[s->pending++] = (struct cpa_sampled){ CPA_SLOT_UNSAMPLED, s->lost };
	if (unlikely(s->unknown))
		share(s);
}

void cpa_sampled_drop(struct cpa_sampler *s)
{
	s->pending = 0;
	s->stand_for = 0;
	s->unknown = s->lost = 0;
}
