/* SPDX-License-Identifier: MIT */
#include "shadow/activity.h"

#include "shadow/mix.h"
#include "shadow/path.h"
#include "shadow/summary.h"
#include "shadow/table.h"

/* @ticks pass while the component of @slot is active; @total of them count in its sum. */
static void charge(struct cpa_self *self, uint32_t slot, uint64_t ticks, uint64_t total)
{
	struct cpa_thread *row = self->row;

	if (!slot)
		return;
	cpa_path_add(self, &row->path, slot, ticks);
	if (likely(row->totals && slot < row->totals_slots))
		((uint64_t *)cpa_at(row->totals))[slot] += total;
}

/* Divide @ticks in proportion to @weight, to the last tick. */
static void spread(struct cpa_self *self, uint64_t ticks, const uint32_t slot[],
		   const uint64_t weight[], unsigned n)
{
	uint64_t sum = 0, rest = ticks;

	for (unsigned i = 0; i < n; i++)
		sum += weight[i];
	for (unsigned i = 0; i < n && sum; i++) {
		uint64_t part, product;

		/* Ticks times weight overflows for activities of hours only. */
		if (unlikely(__builtin_mul_overflow(rest, weight[i], &product)))
			part = (uint64_t)((unsigned __int128)rest * weight[i] / sum);
		else
			part = weight[i] == sum ? rest : product / sum;

		charge(self, slot[i], part, part);
		rest -= part;
		sum -= weight[i];
	}
}

static void learn(struct cpa_self *self, const struct cpa_span *span, struct cpa_edge_cache *cache)
{
	for (unsigned i = 0; i < span->sampled; i++) {
		self->row->last_function = span->sample_slot[i];
		if (!cache)
			continue;
		cpa_mix_add(cache->mix, span->sample_slot[i], span->sample_count[i]);
		cpa_mix_add(((struct cpa_edge *)cpa_row(CPA_TABLE_EDGES, cache->edge))->mix,
			    span->sample_slot[i], span->sample_count[i]);
	}
}

/* Which functions the process time of the activity was spent in; see shadow/mix.h. */
static void attribute(struct cpa_self *self, const struct cpa_span *span,
		      struct cpa_edge_cache *cache)
{
	uint32_t slot[CPA_SAMPLED_SLOTS];
	uint64_t weight[CPA_SAMPLED_SLOTS];
	const uint64_t *mix = NULL;
	unsigned n = 0;

	for (; n < span->sampled; n++) {
		slot[n] = span->sample_slot[n];
		weight[n] = span->sample_count[n];
	}
	if (unlikely(n))
		learn(self, span, cache);
	else if (cache && cpa_mix_sum(cache->mix))
		mix = cache->mix;
	else if (cache)
		mix = ((struct cpa_edge *)cpa_row(CPA_TABLE_EDGES, cache->edge))->mix;
	for (unsigned i = 0; mix && i < CPA_MIX; i++) {
		uint64_t word = __atomic_load_n(&mix[i], __ATOMIC_RELAXED); /* see cpa_mix_add() */

		if (word) {
			slot[n] = cpa_mix_slot(word);
			weight[n++] = word & CPA_MIX_WEIGHT;
		}
	}
	if (!n) {
		slot[n] = self->row->last_function ? self->row->last_function : CPA_SLOT_UNSAMPLED;
		weight[n++] = 1;
	}
	spread(self, span->process, slot, weight, n);
}

void cpa_activity_end(struct cpa_self *self, const struct cpa_span *span, uint32_t node)
{
	struct cpa_thread *row = self->row;
	struct cpa_edge_cache *cache = cpa_summary_edge(self, row->node, node, false);
	uint64_t ticks = span->process + span->external;

	row->path.len += ticks;
	row->path.observed[CPA_TIME_PROCESS] += span->process;
	row->path.observed[CPA_TIME_EXTERNAL] += span->external;
	row->path.observed[CPA_TIME_RUNQUEUE] += span->runqueue;
	row->path.observed[CPA_TIME_PROBE] += span->probe;
	row->process += span->process;
	row->external += span->external;
	row->runqueue += span->runqueue;
	row->probe += span->probe;
	row->events++;
	if (cache) {
		cache->count++;
		cache->weight += ticks;
		charge(self, ((struct cpa_edge *)cpa_row(CPA_TABLE_EDGES, cache->edge))->slot,
		       ticks, span->process);
	}
	charge(self, row->thread_slot, ticks, span->process);
	for (unsigned i = 0; i < row->held_count; i++)
		charge(self, row->held_slot[i], ticks, span->process);
	if (span->process)
		attribute(self, span, cache);
	if (unlikely(span->external))
		charge(self, span->external_slot, span->external, span->external);
	row->node = node;
	row->path.node = node;
}

void cpa_dependency(struct cpa_self *self, const struct cpa_wait *wait, uint64_t waited)
{
	struct cpa_edge_cache *cache = cpa_summary_edge(self, wait->from, self->row->node, true);

	if (!cache)
		return;
	cache->count++;
	cache->weight += waited;
	cache->followed += wait->followed;
}

void cpa_hold(struct cpa_self *self, uint32_t slot)
{
	struct cpa_thread *row = self->row;

	/* Nested locks of one class count once: the section is one. */
	for (unsigned i = 0; i < row->held_count; i++) {
		if (row->held_slot[i] == slot) {
			row->held_times[i]++;
			return;
		}
	}
	if (!slot || row->held_count == CPA_HELD_MAX) {
		cpa_diag(CPA_DIAG_HELD_OVERFLOW);
		return;
	}
	row->held_slot[row->held_count] = slot;
	row->held_times[row->held_count++] = 1;
}

void cpa_unhold(struct cpa_self *self, uint32_t slot)
{
	struct cpa_thread *row = self->row;

	for (unsigned i = row->held_count; i-- > 0;) {
		if (row->held_slot[i] != slot)
			continue;
		if (!--row->held_times[i]) {
			row->held_count--;
			row->held_slot[i] = row->held_slot[row->held_count];
			row->held_times[i] = row->held_times[row->held_count];
		}
		return;
	}
}
