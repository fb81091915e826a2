/* SPDX-License-Identifier: MIT */
#include "shadow/graph/owed.h"

/* Add @ticks to what is owed to @function. It may take the place of that to which least is owed. */
static void owe(struct cpa_self *self, uint32_t function, int64_t ticks)
{
	struct cpa_owed_place *place = self->owed.place, *least = place;

	for (unsigned i = 0; i < CPA_OWED; i++, place++) {
		if (place->function == function) {
			place->ticks += ticks;
			return;
		}
		if (!place->function) {
			least = place;
			break;
		}
		if (place->ticks < least->ticks)
			least = place;
	}
	*least = (struct cpa_owed_place){ function, ticks };
}

/* The samples of @span stand for unknown time, of which @ticks are known now. */
static void owe_sampled(struct cpa_self *self, const struct cpa_span *span, uint64_t ticks)
{
	int64_t rest = (int64_t)(span->sampled_ticks - ticks), samples = 0;

	for (unsigned i = 0; i < span->sampled; i++)
		samples += span->sample[i].count;
	for (unsigned i = 0; i < span->sampled && samples; i++) {
		/* The product overflows only for activities of hours. */
		int64_t part = (int64_t)((__int128)rest * span->sample[i].count / samples);

		owe(self, span->sample[i].function, part);
		rest -= part;
		samples -= span->sample[i].count;
	}
}

void cpa_owed_sampled(struct cpa_self *self, const struct cpa_span *span, uint64_t ticks,
		      bool known)
{
	const struct cpa_owed_place *most = self->owed.place;

	if (self->owed.function)
		owe(self, self->owed.function, -(int64_t)self->owed.had);
	self->owed.had = 0;
	if (!known && span->sample_period)
		owe_sampled(self, span, ticks);
	for (unsigned i = 1; i < CPA_OWED && self->owed.place[i].function; i++)
		if (self->owed.place[i].ticks > most->ticks)
			most = &self->owed.place[i];
	self->owed.function = most->function && span->sample_period ? most->function :
								      self->row->last_function;
}
