/* SPDX-License-Identifier: MIT */
#include "shadow/edge/unread.h"

#include "shadow/edge/holder.h"

void cpa_unread_decide(struct cpa_self *self, struct cpa_stream *s)
{
	/* Relaxed: bytes may have been read while profiling was off. */
	if (!__atomic_load_n(&s->taken, __ATOMIC_RELAXED) &&
	    !(cpa_stream_closed(s, CPA_STREAM_OUTWARD) & CPA_STREAM_READ))
		cpa_stream_clear(self, s);
}

/* In a word of the ring, above the row: what changes with each write and read of the stream. */
#define STAMP 32u

static uint64_t get(const uint64_t *from)
{
	/* Relaxed: whoever still uses the stream is told from one that does not by any later value. */
	return __atomic_load_n(from, __ATOMIC_RELAXED);
}

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

/* Whether nobody is known to write the stream, or to be able to, nor to read on. */
static bool is_over(struct cpa_stream *s)
{
	/* Relaxed: a name in place of none. */
	bool read = __atomic_load_n(&s->reader[0], __ATOMIC_RELAXED);

	return get(&s->written) < CPA_STREAM_WRITING && cpa_holders(s) != CPA_HOLDERS_SOME &&
	       (!read || cpa_stream_closed(s, 0) & CPA_STREAM_NO_READER);
}

void cpa_unread_closed(struct cpa_self *self, uint32_t row)
{
	struct cpa_closed_streams *closed = &cpa_header()->closed;
	uint64_t place, old;

	if (!has_tokens(cpa_stream(row)))
		return;
	/* Relaxed, both: rows are there already, and never move. */
	place = __atomic_fetch_add(&closed->places, 1, __ATOMIC_RELAXED) % CPA_STREAMS_CLOSED;
	old = __atomic_exchange_n(&closed->place[place], word_of(row), __ATOMIC_RELAXED);
	if (old && word_of((uint32_t)old) == old && is_over(cpa_stream((uint32_t)old)))
		cpa_stream_clear(self, cpa_stream((uint32_t)old));
}
