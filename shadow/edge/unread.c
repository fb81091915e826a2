/* SPDX-License-Identifier: MIT */
#include "shadow/edge/unread.h"

static uint64_t get(const uint64_t *from)
{
	/* Relaxed: whoever still uses the stream is told from one that does not by any later value. */
	return __atomic_load_n(from, __ATOMIC_RELAXED);
}

void cpa_unread_decide(struct cpa_self *self, struct cpa_stream *s, uint64_t waiting)
{
	uint64_t most = waiting + (s->kind == CPA_STREAM_TCP ? CPA_OUTWARD_TCP : 0);

	if ((get(&s->written) & CPA_STREAM_BYTES) > most && !get(&s->taken) &&
	    !(cpa_stream_closed(s, CPA_STREAM_OUTWARD) & CPA_STREAM_READ))
		cpa_stream_clear(self, s);
}

/* In a word of the ring, above the row: what changes with each write and read of the stream. */
#define STAMP 32u

static uint64_t word_of(uint32_t row)
{
	const struct cpa_stream *s = cpa_stream(row);
	uint64_t stamp = get(&s->written) + get(&s->taken) + get(&s->records);

	return stamp << STAMP | row;
}

/* Whether there may be a token of the stream. */
static bool has_tokens(const struct cpa_stream *s)
{
	return get(&s->tail) < get(&s->records) || get(&s->rooms) || get(&s->ended);
}

/* Free what nobody will ask for: the records of a stream that somebody in the session reads are that reader's. */
static void clear(struct cpa_self *self, struct cpa_stream *s)
{
	/* Relaxed: a name in place of none. */
	if (cpa_stream_closed(s, 0) & CPA_STREAM_READ ||
	    __atomic_load_n(&s->reader[0], __ATOMIC_RELAXED))
		cpa_stream_clear_rooms(self, s);
	else
		cpa_stream_clear(self, s);
}

void cpa_unread_closed(struct cpa_self *self, uint32_t row)
{
	struct cpa_closed_streams *closed = &cpa_header()->closed;
	uint64_t place, old;

	/* Who makes it over comes here later. */
	if (!has_tokens(cpa_stream(row)) || !cpa_unread_is_over(cpa_stream(row)))
		return;
	/* Relaxed, both: rows are there already, and never move. */
	place = __atomic_fetch_add(&closed->places, 1, __ATOMIC_RELAXED) % CPA_STREAMS_CLOSED;
	old = __atomic_exchange_n(&closed->place[place], word_of(row), __ATOMIC_RELAXED);
	if (old && word_of((uint32_t)old) == old && cpa_unread_is_over(cpa_stream((uint32_t)old)))
		clear(self, cpa_stream((uint32_t)old));
}
