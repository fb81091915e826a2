/* SPDX-License-Identifier: MIT */
#include "shadow/edge/range.h"

#include "shadow/edge/cell.h"

/* While calls that move bytes come back. Each of CPA_STREAM_PASSED does so once. */
#define TRIES 8u

static uint64_t get(const uint64_t *from)
{
	/* Relaxed: the kernel's own lock on the stream orders a write and the read of its bytes. */
	return __atomic_load_n(from, __ATOMIC_RELAXED);
}

/* Of the records found the one that matters least: the shortest path, but not the latest. */
static unsigned least(const struct cpa_stream_found *f)
{
	unsigned latest = 0, found = 0;

	for (unsigned i = 1; i < f->count; i++)
		if (cpa_range_is_later(f->from[i].token, f->from[latest].token))
			latest = i;
	found = latest == 0;
	for (unsigned i = 0; i < f->count; i++)
		if (i != latest && f->from[i].token->path.len < f->from[found].token->path.len)
			found = i;
	return found;
}

void cpa_range_keep_more(struct cpa_self *self, struct cpa_stream_found *f, uint64_t *cell,
			 struct cpa_token *token)
{
	unsigned i = 0;

	while (i < f->count && f->from[i].token->path.owner != token->path.owner)
		i++;
	if (i < f->count && !cpa_range_is_later(token, f->from[i].token)) {
		cpa_cell_unpin(self, cell, token);
		return;
	}
	if (i == CPA_STREAM_OWNERS)
		i = least(f);
	if (i < f->count)
		cpa_cell_unpin(self, f->from[i].cell, f->from[i].token);
	else
		f->count++;
	f->from[i].cell = cell;
	f->from[i].token = token;
	/* None is later than this was which makes room here. */
	if (token->path.released > f->released)
		f->released = token->path.released;
}

/* The open records, while those of a range are looked for. */
struct open {
	uint64_t *cell;
	struct cpa_token *token;
	uint32_t count;
};

static void keep_open(struct cpa_self *self, struct open *open, uint64_t *cell,
		      struct cpa_token *token)
{
	open->count++;
	if (open->count > 1 && !cpa_range_is_later(token, open->token)) {
		cpa_cell_unpin(self, cell, token);
		return;
	}
	if (open->count > 1)
		cpa_cell_unpin(self, open->cell, open->token);
	open->cell = cell;
	open->token = token;
}

/*
 * Pin the records of bytes [@from, @to) of @s: those that are closed in @f, of the open ones the latest in @open.
 * Return the number of the byte behind those that are known to be of a closed one.
 */
static inline __attribute__((always_inline)) uint64_t scan(struct cpa_self *self,
							   struct cpa_stream *s, uint64_t from,
							   uint64_t to, struct cpa_stream_found *f,
							   struct open *open)
{
	uint64_t places = __atomic_load_n(&s->records, __ATOMIC_RELAXED), known = from;
	unsigned behind = 0;

	for (uint64_t i = cpa_stream_first_place(s, places);
	     i < places && behind < CPA_STREAM_BEHIND; i++) {
		uint64_t *cell = &s->record[i % CPA_STREAM_RECORDS];
		struct cpa_token *token = cpa_cell_pin(cell);
		uint64_t begin, end;

		if (!token)
			continue;
		begin = get(&token->key);
		end = get(&token->payload);
		if (end == CPA_STREAM_OPEN && begin < to) {
			keep_open(self, open, cell, token);
		} else if (begin < to && end > from && end > begin) {
			cpa_range_keep(self, f, cell, token);
			known = end > known ? end : known;
		} else {
			cpa_cell_unpin(self, cell, token);
			behind += begin >= to;
		}
	}
	return known;
}

static bool pin(struct cpa_self *self, struct cpa_stream *s, uint64_t from, uint64_t to,
		struct cpa_stream_found *f, unsigned depth, bool *uncertain);

/*
 * The call with the open record @open moves bytes from another stream: pin the records of those who wrote them,
 * up to byte @to of @s. False: the call came back meanwhile, and has another record: look again.
 */
static bool pin_source(struct cpa_self *self, const struct cpa_stream *s, const struct open *open,
		       uint64_t to, struct cpa_stream_found *f, unsigned depth, bool *uncertain)
{
	const struct cpa_token *t = open->token;
	uint64_t source = get(&t->source), begin = get(&t->key), at = source & CPA_STREAM_BYTES;
	struct cpa_stream *in;
	bool same = true;

	if (!source)
		return true;
	/* Or another thread wrote meanwhile, and it is not known which of the bytes are whose. */
	if ((get(&s->written) & CPA_STREAM_BYTES) != begin)
		return false;
	in = cpa_stream((uint32_t)(source >> CPA_STREAM_SOURCE));
	if (!depth)
		*uncertain = true;
	else if (!in->broken)
		same = pin(self, in, at, at + to - begin, f, depth - 1, uncertain);
	/*
	 * ACQUIRE: pairs with cpa_stream_pass_end(). If a record of @in was swept before it could be pinned,
	 * that of the call is another one by now.
	 */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return same && (uint32_t)get(open->cell) == t->row;
}

/* Pin the records of bytes [@from, @to) of @s. False: as pin_source(). */
static bool pin(struct cpa_self *self, struct cpa_stream *s, uint64_t from, uint64_t to,
		struct cpa_stream_found *f, unsigned depth, bool *uncertain)
{
	struct open open = { 0 };
	uint64_t known = scan(self, s, from, to, f, &open);
	bool same = true;

	if (open.count && known < to) {
		*uncertain |= open.count > 1;
		if (open.count == 1)
			same = pin_source(self, s, &open, to, f, depth, uncertain);
		cpa_range_keep(self, f, open.cell, open.token);
	} else if (open.count) {
		cpa_cell_unpin(self, open.cell, open.token);
	}
	return same;
}

/* cpa_range_find() where a call was found that moves bytes from another stream. Nothing is pinned yet. */
static __attribute__((noinline, cold)) void find_moved(struct cpa_self *self, struct cpa_stream *s,
						       uint64_t from, struct cpa_stream_found *f,
						       bool *uncertain)
{
	for (unsigned tries = 1; !pin(self, s, from, f->end, f, CPA_STREAM_PASSED, uncertain);
	     tries++) {
		*uncertain = tries == TRIES;
		if (*uncertain)
			return;
		cpa_stream_drop(self, f);
	}
}

/* Whether bytes up to number @end were read of which no write is known: @written is the stream's. */
static bool is_behind(uint64_t end, uint64_t written)
{
	return written < CPA_STREAM_BARE && end > (written & CPA_STREAM_BYTES);
}

bool cpa_range_find(struct cpa_self *self, struct cpa_stream *s, uint64_t from,
		    struct cpa_stream_found *f, bool *uncertain)
{
	struct open open = { 0 };
	uint64_t known = scan(self, s, from, f->end, f, &open);
	bool is_open = open.count && known < f->end;
	uint64_t moves = 0; /* the call with the open record moves bytes from another stream */

	*uncertain = is_open && open.count > 1;
	if (is_open) {
		moves = get(&open.token->source);
		cpa_range_keep(self, f, open.cell, open.token);
	} else if (open.count) {
		cpa_cell_unpin(self, open.cell, open.token);
	}
	if (unlikely(moves && open.count == 1)) {
		cpa_stream_drop(self, f);
		find_moved(self, s, from, f, uncertain);
	}
	/* Bytes of somebody whom we do not see: numbers of bytes no longer tell who wrote them. */
	if (!open.count && is_behind(f->end, get(&s->written)) && !s->broken)
		__atomic_store_n(&s->broken, 1, __ATOMIC_RELAXED);
	return f->count;
}
