/* SPDX-License-Identifier: MIT */
#include "preload/core/sampled.h"

void cpa_sampled_add(struct cpa_sampler *s, uint32_t function, uint32_t weight)
{
	for (unsigned i = 0; i < s->pending; i++) {
		if (s->function[i] == function) {
			s->count[i] += weight;
			return;
		}
	}
	if (s->pending == CPA_SAMPLED - cpa_callers_divide()) {
		/*
		 * No room: the function with the fewest samples gives its place, with its samples,
		 * to the new one. Of parts, which are many, each would come to have as many: these
		 * samples are of none, and have a place of their own.
		 */
		unsigned least = 0;

		for (unsigned i = 1; i < s->pending; i++)
			least = s->count[i] < s->count[least] ? i : least;
		if (cpa_callers_divide()) {
			s->lost += s->count[least];
			s->count[least] = 0;
		}
		s->function[least] = function;
		s->count[least] += weight;
		return;
	}
	s->function[s->pending] = function;
	s->count[s->pending++] = weight;
}

/* Divide among the activity's parts what stands for none of them. */
static void share(struct cpa_sampler *s)
{
	uint64_t sum = 0, rest = s->unknown, part;

	for (unsigned i = 0; i < s->pending; i++)
		sum += s->count[i];
	for (unsigned i = 0; i < s->pending && rest; i++) {
		part = rest * s->count[i] / sum;
		sum -= s->count[i];
		rest -= part;
		s->count[i] += (uint32_t)part;
	}
}

void cpa_sampled_end(struct cpa_sampler *s)
{
	if (unlikely(s->lost)) {
		s->function[s->pending] = CPA_SLOT_UNSAMPLED;
		s->count[s->pending++] = s->lost;
	}
	if (unlikely(s->unknown))
		share(s);
}

void cpa_sampled_drop(struct cpa_sampler *s)
{
	s->pending = 0;
	s->stand_for = 0;
	s->unknown = s->lost = 0;
}
