/* SPDX-License-Identifier: MIT */
#include "shadow/graph/activity.h"

#include "shadow/graph/call.h"
#include "shadow/graph/checkpoint.h"
#include "shadow/graph/component.h"
#include "shadow/graph/contexts.h"
#include "shadow/store/heap.h"
#include "shadow/journal/journal.h"
#include "shadow/graph/mixes.h"
#include "shadow/graph/owed.h"
#include "shadow/path/path.h"
#include "shadow/graph/run.h"
#include "shadow/graph/summary.h"
#include "shadow/store/table.h"

#define COLD __attribute__((noinline, cold))

/* As cpa_charge(), but for any number of ticks. */
static inline void charge(const struct cpa_charging *c, uint32_t slot, uint64_t total)
{
	if (likely(c->ticks <= CPA_DELTA_MOST)) {
		cpa_charge(c, slot, total);
		return;
	}
	if (!slot)
		return;
	cpa_path_add_large(c->self, c->path, slot, c->ticks);
	if (slot < c->slots)
		c->total[slot] += total;
}

/* As cpa_charging(), for use with charge(): also reserves the ticks in the path. */
static inline struct cpa_charging charging(struct cpa_self *self, uint64_t ticks)
{
	if (likely(ticks <= CPA_DELTA_MOST))
		cpa_path_reserve(self, &self->row->path, ticks);
	return cpa_charging(self, ticks);
}

void cpa_activity_charge(struct cpa_self *self, uint32_t slot, uint64_t ticks, uint64_t total)
{
	const struct cpa_charging c = charging(self, ticks);

	charge(&c, slot, total);
	if (unlikely(self->journal))
		cpa_journal_charge(self, slot, ticks);
}

void cpa_activity_see(struct cpa_self *self, uint32_t slot, uint64_t ticks)
{
	struct cpa_thread *row = self->row;

	if (!slot || !ticks)
		return;
	cpa_path_see(self, &row->path, slot, ticks);
	if (slot < row->totals_slots)
		((uint64_t *)cpa_at(row->totals))[slot] += ticks;
	if (unlikely(self->journal))
		cpa_journal_charge(self, slot, ticks);
}

/* Divide @ticks exactly among @n functions, in proportion to their counts. */
static void spread(struct cpa_self *self, uint64_t ticks, const struct cpa_sampled *sample,
		   unsigned n)
{
	uint64_t sum = 0, rest = ticks;

	for (unsigned i = 0; i < n; i++)
		sum += sample[i].count;
	for (unsigned i = 0; i < n && sum; i++) {
		uint32_t count = sample[i].count;
		uint64_t part, product;

		/* The product overflows only for activities of hours. */
		if (unlikely(__builtin_mul_overflow(rest, count, &product)))
			part = (uint64_t)((unsigned __int128)rest * count / sum);
		else
			part = count == sum ? rest : product / sum;

		cpa_activity_charge(self, cpa_function_slot(sample[i].function), part, part);
		rest -= part;
		sum -= count;
	}
}

/* Divide @ticks among the functions that the mixes of the activity's edge have. Return false if there are none. */
static bool spread_by_mixes(struct cpa_self *self, struct cpa_calls *calls, uint64_t ticks,
			    struct cpa_edge_cache *cache)
{
	struct cpa_sampled sample[CPA_MIX];
	uint64_t word[CPA_MIX];
	uint32_t weight[CPA_MIX], sum;
	unsigned n = cpa_mixes_of(self, calls, cache, ticks, word, weight, &sum);

	for (unsigned i = 0; i < n; i++)
		sample[i] = (struct cpa_sampled){ cpa_mix_function(word[i]), weight[i] };
	spread(self, ticks, sample, n);
	return n;
}

void cpa_activity_attribute(struct cpa_self *self, uint64_t ticks, struct cpa_edge_cache *cache)
{
	struct cpa_charging c = charging(self, ticks);
	uint64_t word[CPA_MIX], rest = ticks;
	uint32_t weight[CPA_MIX], sum, unit;
	unsigned n = cache ? cpa_mixes_of(self, NULL, cache, ticks, word, weight, &sum) : 0;

	if (!n) {
		cpa_activity_charge(self, cpa_function_slot(cpa_owed_function(self, ticks)), ticks,
				    ticks);
		return;
	}
	/* In proportion to the weights. A single division, because most activities come here. */
	unit = UINT32_MAX / sum;
	for (unsigned i = 0; i < n; i++) {
		uint64_t share = unit * (uint64_t)weight[i];
		uint32_t slot = cpa_function_slot(cpa_mix_function(word[i]));
		uint64_t part = i == n - 1 ? rest :
					     (uint64_t)((unsigned __int128)ticks * share >> 32);

		if (unlikely(ticks > CPA_DELTA_MOST))
			c = charging(self, part);
		c.ticks = part;
		c.lanes = cpa_path_lanes(part);
		rest -= part;
		charge(&c, slot, c.ticks);
		if (unlikely(self->journal))
			cpa_journal_charge(self, slot, c.ticks);
	}
}

/*
 * All samples of the activity fell into an open untimed section. The part of @ticks that they do
 * not stand for passed, on average, before the section; then the thread did the same as at the
 * previous sample, because a use is timed after each sample. Charge that part; return it in ticks.
 */
static uint64_t before_section(struct cpa_self *self, const struct cpa_span *span, uint64_t ticks)
{
	uint32_t last = self->row->last_function ? self->row->last_function : CPA_SLOT_UNSAMPLED;
	uint64_t before = ticks - span->sampled_ticks;

	if (likely(!span->open) || span->sampled_ticks >= ticks)
		return 0;
	cpa_activity_charge(self, cpa_function_slot(last), before, before);
	return before;
}

/* Attribute @ticks of the activity's process time to functions; see shadow/graph/mix.h. */
static void attribute(struct cpa_self *self, const struct cpa_span *span, uint64_t ticks,
		      struct cpa_edge_cache *cache)
{
	if (unlikely(span->sampled)) {
		unsigned class = cpa_mix_class(ticks);
		bool known;

		ticks -= before_section(self, span, ticks);
		known = cpa_mixes_known(self, cache);
		cpa_mixes_learn(self, span, ticks, class, cache);
		cpa_owed_sampled(self, span, ticks, known);
		spread(self, ticks, span->sample, span->sampled);
		return;
	}
	if (!span->calls || !cache || !spread_by_mixes(self, span->calls, ticks, cache))
		cpa_activity_attribute(self, ticks, span->calls ? NULL : cache);
}

/*
 * Set the held slot at index @at. Classes that share a slot are charged once: the first one held
 * keeps the slot.
 */
static void set_held_slot(struct cpa_self *self, unsigned at, uint32_t slot)
{
	struct cpa_thread *row = self->row;

	row->held_slot[at] = slot;
	for (unsigned i = 0; i < at; i++)
		if (unlikely(row->held_slot[i] == slot))
			row->held_slot[at] = CPA_SLOT_NONE;
}

static void look_up_held(struct cpa_self *self)
{
	for (unsigned i = 0; i < self->row->held_count; i++)
		set_held_slot(self, i, cpa_component_slot(self->held_class[i]));
}

/* Components have moved: look up the slots again. */
static COLD void follow(struct cpa_self *self, struct cpa_calls *calls, uint32_t moves)
{
	self->moves = moves;
	self->row->thread_slot = cpa_component_slot(self->row->component);
	look_up_held(self);
	if (calls)
		cpa_calls_follow(calls);
}

void cpa_activity_held_external(struct cpa_self *self, uint32_t slot, uint64_t ticks)
{
	struct cpa_thread *row = self->row;

	if (unlikely(slot >= row->totals_slots))
		return;
	if (unlikely(!row->held_external)) {
		void *sums = cpa_heap_alloc(row->totals_slots * sizeof(uint64_t));

		if (!sums)
			return;
		row->held_external = cpa_offset(sums);
	}
	((uint64_t *)cpa_at(row->held_external))[slot] += ticks;
}

/*
 * Common part of all activities: everything except functions, kinds of external time, and time that
 * is charged to no component.
 */
static struct cpa_edge_cache *advance(struct cpa_self *self, struct cpa_calls *calls,
				      uint64_t process, uint64_t external, uint32_t node)
{
	struct cpa_thread *row = self->row;
	struct cpa_edge_cache *cache = cpa_summary_edge(self, row->node, node, false);
	const struct cpa_charging c = charging(self, process + external);
	uint32_t moves = cpa_component_moved();

	if (unlikely(moves != self->moves))
		follow(self, calls, moves);
	row->path.len += c.ticks;
	row->path.observed[CPA_TIME_PROCESS] += process;
	row->process += process;
	row->events++;
	if (likely(cache)) {
		cpa_summary_count(cache);
		cache->weight += c.ticks;
		cpa_summary_passed(self, cache, c.ticks);
	}
	charge(&c, row->thread_slot, process);
	for (unsigned i = 0; i < row->held_count; i++)
		charge(&c, row->held_slot[i], process);
	row->node = node;
	row->path.node = node;
	return cache;
}

void cpa_activity_run_slow(struct cpa_self *self, uint64_t process, uint32_t node)
{
	struct cpa_edge_cache *cache;

	cpa_writing(self->row);
	cache = advance(self, NULL, process, 0, node);
	if (process)
		cpa_activity_attribute(self, process, cache);
	cpa_written(self->row);
}

void cpa_activity_end(struct cpa_self *self, const struct cpa_span *span, uint32_t node)
{
	struct cpa_thread *row = self->row;
	struct cpa_edge_cache *cache;
	uint64_t unknown = span->process;

	cpa_writing(row);
	cache = advance(self, span->calls, span->process, span->external, node);
	if (unlikely(self->journal))
		cpa_journal_activity(self, span, cache);
	if (unlikely(span->stacks))
		cpa_stacks_put(span->stacks, &row->path, span->process);
	row->path.observed[CPA_TIME_EXTERNAL] += span->external + span->idle;
	row->path.observed[CPA_TIME_RUNQUEUE] += span->runqueue;
	row->path.observed[CPA_TIME_PROBE] += span->probe;
	row->external += span->external + span->idle;
	row->runqueue += span->runqueue;
	row->probe += span->probe;
	if (unlikely(span->calls))
		unknown = cpa_calls_charge(self, span->calls, cache);
	if (unlikely(span->cut) && cache)
		cache = cpa_summary_usual(self, cache);
	if (unknown)
		attribute(self, span, unknown, cache);
	if (unlikely(span->external)) {
		uint64_t last = span->external - span->earlier;

		cpa_activity_charge(self, span->external_slot, last, last);
		cpa_activity_charge(self, span->earlier_slot, span->earlier, span->earlier);
		for (unsigned i = 0; i < row->held_count; i++)
			cpa_activity_held_external(self, row->held_slot[i], span->external);
	}
	if (unlikely(span->idle)) {
		cpa_activity_see(self, span->idle_slot, span->idle - span->earlier_idle);
		cpa_activity_see(self, span->earlier_idle_slot, span->earlier_idle);
	}
	cpa_journal_pending(self);
	cpa_written(row);
}

void cpa_dependency(struct cpa_self *self, const struct cpa_wait *wait, uint64_t waited)
{
	struct cpa_edge_cache *cache = cpa_summary_edge(self, wait->from, self->row->node, true);

	if (!cache)
		return;
	cpa_summary_count(cache);
	cache->weight += waited;
	if (wait->followed) {
		cache->followed++;
		cache->followed_weight += waited;
	}
}

void cpa_hold_slow(struct cpa_self *self, uint32_t class, uint32_t slot)
{
	struct cpa_thread *row = self->row;

	/* Nested locks of one class count once, as a single section. */
	for (unsigned i = 0; i < row->held_count; i++) {
		if (self->held_class[i] == class) {
			row->held_times[i]++;
			return;
		}
	}
	slot = cpa_component_now(class, slot);
	if (!slot || row->held_count == CPA_HELD_MAX) {
		cpa_diag(CPA_DIAG_HELD_OVERFLOW);
		return;
	}
	self->held_class[row->held_count] = class;
	row->held_times[row->held_count] = 1;
	set_held_slot(self, row->held_count++, slot);
}

void cpa_unhold_slow(struct cpa_self *self, uint32_t class)
{
	struct cpa_thread *row = self->row;
	bool first = true;

	for (unsigned i = row->held_count; i-- > 0;) {
		first = first && row->held_slot[i];
		if (self->held_class[i] != class)
			continue;
		if (!--row->held_times[i]) {
			row->held_count--;
			row->held_slot[i] = row->held_slot[row->held_count];
			row->held_times[i] = row->held_times[row->held_count];
			self->held_class[i] = self->held_class[row->held_count];
			if (unlikely(!first)) /* a class above it may have shared the slot */
				look_up_held(self);
		}
		return;
	}
}

bool cpa_holds(const struct cpa_self *self, uint32_t slot)
{
	for (unsigned i = 0; i < self->row->held_count; i++)
		if (self->row->held_slot[i] == slot)
			return true;
	return false;
}
