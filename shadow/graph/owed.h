/* SPDX-License-Identifier: MIT */
/*
 * shadow/graph/owed.h - the function of an activity of which nothing is known
 *
 * Nothing is known of an activity without samples on an edge on which no thread has had any. The function of the
 * thread's latest sample is most often one of long activities, and the unknown ones are short: it would have
 * their time on top of its own. But a sample that falls into an activity on such an edge tells of unknown time: on
 * average it stands for a sample period of it. That time is owed to its function, which may have too little in
 * other unknown activities, as this one is known now. The function to which most is owed is charged with the unknown
 * activities until the next sample. So the time of all functions is right on average from the first samples
 * on; only when a function has it may be wrong.
 *
 * Until the thread has such a sample, and where samples do not stand for all process time (struct cpa_span), it is
 * the latest sample's function.
 */
#ifndef CPA_SHADOW_GRAPH_OWED_H
#define CPA_SHADOW_GRAPH_OWED_H

#include "shadow/path/span.h"
#include "shadow/store/self.h"

/* The thread has had no sample, or none that still holds. */
static inline void cpa_owed_forget(struct cpa_self *self)
{
	self->row->last_function = 0;
	self->owed.function = 0;
}

/* Return the id of the function that an unknown activity of @ticks process time is charged with. */
static inline uint32_t cpa_owed_function(struct cpa_self *self, uint64_t ticks)
{
	self->owed.had += ticks;
	return self->owed.function ? self->owed.function : (uint32_t)CPA_SLOT_UNSAMPLED;
}

/*
 * There are samples, those of @span, in an activity of @ticks process time; @known: of its edge something was
 * known. Choose the function of the next unknown activities. After cpa_mixes_learn().
 */
CPA_HIDDEN void cpa_owed_sampled(struct cpa_self *self, const struct cpa_span *span, uint64_t ticks,
				 bool known);

#endif
