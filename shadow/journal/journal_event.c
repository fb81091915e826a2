/* SPDX-License-Identifier: MIT */
/* shadow/journal/journal_event.c - records of activities and the events that end them */
#include "shadow/journal/journal_write.h"

#include <string.h>

/* Maximum size of a record, bytes, without the held slots and the charges. */
#define EVENT_MOST (1 + 2 * WORD + 3 * SLOT + 4 * NUMBER + WORD)

void cpa_journal_activity(struct cpa_self *self, const struct cpa_span *span,
			  const struct cpa_edge_cache *edge)
{
	struct cpa_journal *j = self->journal;
	const struct cpa_thread *row = self->row;

	j->process = span->process;
	j->external = span->external + span->idle;
	j->runqueue = span->runqueue;
	j->to = row->node;
	j->taken = edge ? edge->edge : 0;
	j->slot_now = row->thread_slot;
	j->holds = row->held_count;
	memcpy(j->hold, row->held_slot, row->held_count * sizeof(j->hold[0]));
	j->charges = 0;
	j->uses = 0;
}

/* Return whether the charges have the slots predicted for this edge. */
static bool as_before(const struct cpa_journal *j)
{
	unsigned at = j->edge % CPA_JOURNAL_GUESS, i = 0;

	while (i < j->charges && i < CPA_JOURNAL_LIST &&
	       j->guess.list[at].slot[i] == j->charge[i].slot)
		i++;
	return i == j->charges && i == j->guess.list[at].slots;
}

static void remember(struct cpa_journal *j)
{
	unsigned at = j->edge % CPA_JOURNAL_GUESS;

	if (j->charges > CPA_JOURNAL_LIST)
		return;
	j->guess.list[at].slots = (uint16_t)j->charges;
	for (unsigned i = 0; i < j->charges; i++)
		j->guess.list[at].slot[i] = (uint16_t)j->charge[i].slot;
}

/* Write the charges. @whole: they add up to the process ticks; @same: their slots are predicted. */
static uint8_t *put_charges(uint8_t *at, struct cpa_journal *j, bool whole, bool same)
{
	at = put(at, same ? 0 : 1 + 2 * j->charges + whole);
	for (unsigned i = 0; i < j->charges; i++) {
		if (!same)
			at = put(at, j->charge[i].slot);
		if (!whole || i + 1 < j->charges)
			at = put(at, j->charge[i].ticks);
	}
	if (!same)
		remember(j);
	return at;
}

/* More charges than fit: write those collected so far. */
static void flush_charges(struct cpa_self *self)
{
	struct cpa_journal *j = self->journal;
	uint8_t *at = room(self, 1 + SLOT + CPA_PENDING * (SLOT + NUMBER));

	if (at) {
		*at++ = CPA_RECORD_OTHER | CPA_RECORD_CHARGES << 2;
		publish(j, put_charges(at, j, false, false));
	}
	j->charges = 0;
}

void cpa_journal_charge(struct cpa_self *self, uint32_t slot, uint64_t ticks)
{
	struct cpa_journal *j = self->journal;

	if (!slot || !ticks)
		return;
	if (unlikely(j->charges == CPA_PENDING))
		flush_charges(self);
	j->charge[j->charges].slot = slot;
	j->charge[j->charges++].ticks = ticks;
}

void cpa_journal_untimed(struct cpa_self *self, uint32_t uses)
{
	self->journal->uses = uses;
}

static uint8_t *put_edge(uint8_t *at, struct cpa_journal *j, unsigned *flags)
{
	uint32_t *guess = &j->guess.edge[j->edge % CPA_JOURNAL_GUESS];

	if (*guess != j->taken || !j->taken) {
		*flags |= CPA_EVENT_EDGE;
		at = put(at, j->taken);
		if (!j->taken)
			at = put(at, j->to);
		*guess = j->taken;
	}
	j->edge = j->taken;
	j->node = j->to;
	return at;
}

static uint8_t *put_held(uint8_t *at, struct cpa_journal *j, unsigned *flags)
{
	uint32_t n = j->holds < j->held_count ? j->holds : j->held_count;
	bool same = !memcmp(j->hold, j->held, n * sizeof(j->hold[0]));

	if (same && j->holds == j->held_count)
		return at;
	*flags |= CPA_EVENT_HELD;
	if (same && j->holds + 1 == j->held_count) {
		at = put(at, 0);
	} else if (same && j->holds == j->held_count + 1) {
		at = put(at, UINT64_C(2) + j->hold[j->held_count]);
	} else {
		at = put(at, 1);
		at = put(at, j->holds);
		for (unsigned i = 0; i < j->holds; i++)
			at = put(at, j->hold[i]);
	}
	j->held_count = j->holds;
	memcpy(j->held, j->hold, j->holds * sizeof(j->held[0]));
	return at;
}

/* Write the charges, unless they are as predicted. */
static uint8_t *put_functions(uint8_t *at, struct cpa_journal *j, unsigned *flags)
{
	uint64_t sum = 0;
	bool whole, same;

	for (unsigned i = 0; i < j->charges; i++)
		sum += j->charge[i].ticks;
	whole = j->charges && sum == j->process;
	same = whole && as_before(j);
	if (j->process ? same && j->charges == 1 : !j->charges)
		return at;
	*flags |= CPA_EVENT_CHARGES;
	return put_charges(at, j, whole, same);
}

void cpa_journal_event_write(struct cpa_self *self, uint64_t now)
{
	struct cpa_journal *j = self->journal;
	size_t most = EVENT_MOST + j->holds * SLOT + (size_t)j->charges * (SLOT + NUMBER);
	uint8_t *tag = room(self, most), *at = tag;
	unsigned flags = 0;
	uint64_t gap;

	if (unlikely(!at)) {
		cpa_journal_next(self);
		name_path(j, &self->row->path);
		j->clock = now;
		return;
	}
	at = put_edge(at + 1, j, &flags);
	at = put_held(at, j, &flags);
	if (unlikely(j->slot != j->slot_now)) {
		flags |= CPA_EVENT_SLOT;
		at = put(at, j->slot_now);
		j->slot = j->slot_now;
	}
	at = put(at, j->process);
	gap = now - j->clock - j->process - j->external - j->runqueue;
	if (gap != j->guess.gap) {
		flags |= CPA_EVENT_GAP;
		at = put_signed(at, gap - j->guess.gap);
		j->guess.gap = gap;
	}
	j->clock = now;
	if (unlikely(j->external | j->runqueue | j->uses)) {
		flags |= CPA_EVENT_EVENTFUL;
		at = put(at, j->external);
		at = put(at, j->runqueue);
		at = put(at, j->uses);
	}
	at = put_functions(at, j, &flags);
	*tag = (uint8_t)(CPA_RECORD_EVENT | flags);
	cpa_journal_next(self);
	publish(j, at);
	name_path(j, &self->row->path);
}
