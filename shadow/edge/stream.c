/* SPDX-License-Identifier: MIT */
#include "shadow/edge/stream.h"

#include "shadow/edge/cell.h"
#include "shadow/edge/merge.h"
#include "shadow/edge/message.h"
#include "shadow/edge/queue.h"
#include "shadow/edge/range.h"
#include "shadow/journal/journal.h"

#define FITS 512u /* bytes */

static void add(uint64_t *to, uint64_t n)
{
	/* Relaxed, as all counters here: sums on which no data depends. */
	__atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

static uint64_t get(const uint64_t *from)
{
	/* Relaxed: the kernel's own lock on the stream orders a write and the read of its bytes. */
	return __atomic_load_n(from, __ATOMIC_RELAXED);
}

struct first {
	enum cpa_stream_kind kind;
	uint64_t waiting;
};

static void fill(void *row, const void *argument)
{
	const struct first *first = argument;
	struct cpa_stream *s = row;

	s->kind = first->kind;
	s->written = first->waiting;
}

uint32_t cpa_stream_intern(uint64_t key, enum cpa_stream_kind kind, uint64_t waiting)
{
	uint32_t row = cpa_table_find(CPA_TABLE_STREAMS, key);
	struct first first = { kind, waiting };

	/* Relaxed: some more may come at the same time. */
	if (!row && __atomic_load_n(&cpa_table(CPA_TABLE_STREAMS)->used, __ATOMIC_RELAXED) <
			    CPA_STREAMS_MOST)
		row = cpa_table_intern(CPA_TABLE_STREAMS, key, fill, &first);
	if (!row)
		cpa_diag(CPA_DIAG_STREAMS_REFUSED);
	return row;
}

/* Keep the class of the thread as one of those at an end. */
static void take_part(const struct cpa_self *self, uint32_t end[])
{
	uint32_t class = self->row->component;

	for (unsigned i = 0; i < CPA_STREAM_ENDS; i++) {
		/* Relaxed: a statistic. */
		uint32_t is = __atomic_load_n(&end[i], __ATOMIC_RELAXED);

		if (is == class ||
		    (!is && (__atomic_compare_exchange_n(&end[i], &is, class, false,
							 __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
			     is == class)))
			return;
	}
}

/* A new token with the thread's path and these bytes. NULL: no space (counted). */
static struct cpa_token *token_new(struct cpa_self *self, uint64_t begin, uint64_t end)
{
	struct cpa_token *t = cpa_token_make(self, &self->row->path);

	if (!t)
		return NULL;
	/* Relaxed: published by the cell. Threads that lost a race may read them late. */
	__atomic_store_n(&t->key, begin, __ATOMIC_RELAXED);
	__atomic_store_n(&t->payload, end, __ATOMIC_RELAXED);
	__atomic_store_n(&t->left, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&t->source, 0, __ATOMIC_RELAXED);
	return t;
}

/* Put @word into @cell, whatever is there. */
static void put(struct cpa_self *self, uint64_t *cell, uint64_t word)
{
	struct cpa_token *old = NULL; /* as in most cases */

	while (!cpa_cell_replace(self, cell, old, word)) {
		if (old)
			cpa_cell_unpin(self, cell, old);
		old = cpa_cell_pin(cell);
	}
}

static void put_last(struct cpa_self *self, struct cpa_stream_record *record)
{
	struct cpa_stream *s = record->stream;

	record->place = __atomic_fetch_add(&s->records, 1, __ATOMIC_RELAXED);
	record->cell = &s->record[record->place % CPA_STREAM_RECORDS];
	put(self, record->cell, CPA_CELL_PIN | record->token->row);
}

/*
 * While the write was under way, others needed the place of its record: put a new one behind all. The
 * thread's path is what it was. Return whether there is space.
 */
static __attribute__((noinline)) bool put_again(struct cpa_self *self,
						struct cpa_stream_record *record)
{
	cpa_cell_unpin(self, record->cell, record->token);
	record->token = token_new(self, 0, CPA_STREAM_OPEN);
	if (record->token)
		put_last(self, record);
	return record->token;
}

/*
 * Put the record's token where the thread's last write failed, if that left a record of no bytes there.
 * False: it has been read over, or its place was needed.
 */
static bool use_again(struct cpa_self *self, struct cpa_stream_record *record)
{
	struct cpa_stream *s = record->stream;
	uint64_t place = self->failed_place, *cell = &s->record[place % CPA_STREAM_RECORDS];
	struct cpa_token *old;

	self->failed = NULL;
	if (place < cpa_stream_first_place(s, get(&s->records)) || !(old = cpa_cell_pin(cell)))
		return false;
	/* Another record of no bytes of this thread would do as well. */
	if (old->path.owner != self->row->path.owner || get(&old->key) != get(&old->payload) ||
	    !cpa_cell_replace(self, cell, old, CPA_CELL_PIN | record->token->row)) {
		cpa_cell_unpin(self, cell, old);
		return false;
	}
	record->place = place;
	record->cell = cell;
	return true;
}

/*
 * Whether a write of @size bytes has room in any case, with @written of the stream: it is known that nothing is in
 * it, and nobody else is in a write that may wait. The smallest buffers, a page of a pipe and half of that for a
 * socket, hold some of these: other threads may be in a write like this.
 */
static bool fits(const struct cpa_stream *s, size_t size, uint64_t written)
{
	/* Relaxed, the load: a hint. */
	return size <= FITS && written == get(&s->taken) && s->kind <= CPA_STREAM_EVENTFD &&
	       s->kind != CPA_STREAM_TCP && !__atomic_load_n(&s->broken, __ATOMIC_RELAXED);
}

void cpa_stream_write_begin(struct cpa_self *self, struct cpa_stream *s, size_t size,
			    struct cpa_stream_record *record)
{
	uint64_t begin = get(&s->written);

	record->stream = s;
	record->cell = NULL;
	record->fits = fits(s, size, begin);
	if (!record->fits)
		begin = __atomic_fetch_add(&s->written, CPA_STREAM_WRITING, __ATOMIC_RELAXED);
	take_part(self, s->writer);
	cpa_journal_release(self, NULL, 0, 0);
	record->token = token_new(self, begin & CPA_STREAM_BYTES, CPA_STREAM_OPEN);
	if (unlikely(!record->token) || unlikely(self->failed == s && use_again(self, record)))
		return;
	put_last(self, record);
}

bool cpa_stream_write_failed(struct cpa_self *self, struct cpa_stream_record *record)
{
	uint64_t next = record->place + 1;

	/* Relaxed: a number; whoever has the place next puts a record there, whatever is in it. */
	if (!__atomic_compare_exchange_n(&record->stream->records, &next, record->place, false,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return false;
	if (!cpa_cell_replace(self, record->cell, record->token, 0))
		cpa_cell_unpin(self, record->cell, record->token);
	return true;
}

uint64_t cpa_stream_write_end(struct cpa_self *self, struct cpa_stream_record *record,
			      uint64_t bytes)
{
	struct cpa_stream *s = record->stream;
	uint64_t begin = __atomic_fetch_add(
		&s->written, (bytes & CPA_STREAM_BYTES) - (record->fits ? 0 : CPA_STREAM_WRITING),
		__ATOMIC_RELAXED);

	begin &= CPA_STREAM_BYTES;
	if (unlikely(!record->cell || (!bytes && cpa_stream_write_failed(self, record))))
		return begin;
	if (unlikely(!bytes)) {
		self->failed = s;
		self->failed_place = record->place;
	} else if (unlikely((uint32_t)get(record->cell) != record->token->row &&
			    !put_again(self, record))) {
		return begin;
	}
	/* Relaxed: a reader that finds it open still takes it for that. */
	__atomic_store_n(&record->token->key, begin, __ATOMIC_RELAXED);
	__atomic_store_n(&record->token->payload, begin + bytes, __ATOMIC_RELAXED);
	cpa_cell_unpin(self, record->cell, record->token);
	return begin;
}

void cpa_stream_pass(struct cpa_stream_record *record, uint32_t source)
{
	uint64_t at = get(&cpa_stream(source)->taken) & CPA_STREAM_BYTES;

	/* Relaxed: a thread reads these bytes after the original call began, which orders the store. */
	if (record->cell)
		__atomic_store_n(&record->token->source, (uint64_t)source << CPA_STREAM_SOURCE | at,
				 __ATOMIC_RELAXED);
}

void cpa_stream_pass_end(struct cpa_self *self, struct cpa_stream_record *record, uint64_t from,
			 uint64_t bytes)
{
	const struct cpa_token *first = record->token;
	struct cpa_token *second;

	if (unlikely(!record->cell)) {
		cpa_stream_write_end(self, record, bytes);
		return;
	}
	if (unlikely((get(&first->source) ^ from) & CPA_STREAM_BYTES))
		add(&record->stream->uncertain, 1); /* others read the source meanwhile */
	cpa_journal_release(self, NULL, 0, 0);
	second = token_new(self, get(&first->key), CPA_STREAM_OPEN);
	if (unlikely(!second)) { /* nobody is known to have written these */
		cpa_stream_write_end(self, record, 0);
		cpa_stream_wrote(record->stream, bytes);
		return;
	}
	if (likely(cpa_cell_replace(self, record->cell, record->token, CPA_CELL_PIN | second->row)))
		record->token = second;
	else /* others needed the place meanwhile: there will be one more */
		cpa_token_drop(self, second);
	cpa_stream_write_end(self, record, bytes);
	/* RELEASE: the record is there before the source's are swept. Pairs with cpa_range_find(). */
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void empty(struct cpa_self *self, uint64_t *cell)
{
	struct cpa_token *token = cpa_cell_pin(cell);

	if (token && !cpa_cell_replace(self, cell, token, 0))
		cpa_cell_unpin(self, cell, token);
}

void cpa_stream_clear(struct cpa_self *self, struct cpa_stream *s)
{
	uint32_t token = cpa_merge_take(&s->ended);

	for (unsigned i = 0; i < CPA_STREAM_RECORDS; i++)
		empty(self, &s->record[i]);
	cpa_stream_clear_rooms(self, s);
	if (token)
		cpa_token_free(self, token);
}

void cpa_stream_clear_rooms(struct cpa_self *self, struct cpa_stream *s)
{
	for (unsigned i = 0; i < CPA_STREAM_ROOMS; i++)
		empty(self, &s->room[i]);
}

void cpa_stream_reader(const struct cpa_self *self, struct cpa_stream *s)
{
	take_part(self, s->reader);
}

void cpa_stream_outside(const struct cpa_self *self, enum cpa_stream_kind kind, uint64_t ticks)
{
	uint32_t row = cpa_stream_intern(kind, kind, 0);
	struct cpa_stream *s = row ? cpa_stream(row) : NULL;

	if (!s)
		return;
	take_part(self, s->reader);
	add(&s->unmatched, 1);
	add(&s->waiting, ticks);
}

bool cpa_stream_read_from(struct cpa_self *self, struct cpa_stream *s, uint64_t from,
			  uint64_t bytes, struct cpa_stream_found *f)
{
	bool uncertain = false;

	take_part(self, s->reader);
	cpa_stream_found_init(f, s, from + bytes);
	f->bytes = bytes;
	if (s->broken || !cpa_range_find(self, s, from, f, &uncertain)) {
		add(&s->unmatched, 1);
		return false;
	}
	add(&s->reads, 1);
	if (unlikely(uncertain))
		add(&s->uncertain, 1);
	return true;
}

bool cpa_stream_next(struct cpa_self *self, struct cpa_stream *s, struct cpa_stream_found *f)
{
	uint64_t from = get(&s->taken);
	bool uncertain;

	if (cpa_stream_is_by_name(s))
		return cpa_message_next(self, s, f);
	cpa_stream_found_init(f, s, from + 1);
	/* Without a record of the next byte there is none, or an end. */
	return !s->broken && cpa_stream_first_place(s, get(&s->records)) < get(&s->records) &&
	       cpa_range_find(self, s, from, f, &uncertain);
}

bool cpa_stream_end(struct cpa_self *self, struct cpa_stream *s, struct cpa_stream_found *f)
{
	uint32_t row = cpa_merge_take(&s->ended);

	(void)self;
	cpa_stream_found_init(f, s, get(&s->taken));
	if (!row) {
		add(&s->unmatched, 1);
		return false;
	}
	f->ends = true;
	f->count = 1;
	f->from[0].token = cpa_token(row);
	f->released = f->from[0].token->path.released;
	return true;
}

/* The token in @cell, if the thread has it pinned as part of @f, which then has it no longer. */
static struct cpa_token *pinned(struct cpa_stream_found *f, const uint64_t *cell)
{
	for (unsigned i = 0; i < f->count; i++) {
		struct cpa_token *token = f->from[i].token;

		if (f->from[i].cell == cell && token) {
			f->from[i].token = NULL;
			return token;
		}
	}
	return NULL;
}

/* The record @t was read to its last byte at clock @now. */
static void count_stay(struct cpa_stream *s, const struct cpa_token *t, uint64_t now)
{
	uint64_t ticks = now > t->path.released ? now - t->path.released : 0;

	if (get(&t->key) == get(&t->payload)) /* nothing was written */
		return;
	add(&s->stayed, ticks);
	cpa_histogram_count(s->histogram, ticks);
}

/* The record of the one write that was found by name is no longer needed. */
static void take_out(struct cpa_self *self, struct cpa_stream_found *f, uint64_t now)
{
	struct cpa_stream *s = f->stream;
	uint64_t *cell = f->from[0].cell;
	struct cpa_token *token = pinned(f, cell);

	count_stay(s, token, now);
	if (!cpa_cell_replace(self, cell, token, 0))
		cpa_cell_unpin(self, cell, token);
	/* Relaxed: as in cpa_stream_sweep(). Another place stays until the places come round. */
	if (get(&s->tail) == f->end)
		__atomic_store_n(&s->tail, f->end + 1, __ATOMIC_RELAXED);
}

/* Of all the writes that were read to their last byte the records are no longer needed. */
void cpa_stream_sweep(struct cpa_self *self, struct cpa_stream_found *f, uint64_t now)
{
	struct cpa_stream *s = f->stream;
	uint64_t places = get(&s->records);

	for (uint64_t i = cpa_stream_first_place(s, places); i < places; i++) {
		uint64_t *cell = &s->record[i % CPA_STREAM_RECORDS];
		struct cpa_token *token = pinned(f, cell);

		if (!token)
			token = cpa_cell_pin(cell);
		if (!token)
			return;			     /* it is about to come, or never will */
		if (get(&token->payload) > f->end) { /* CPA_STREAM_OPEN is */
			cpa_cell_unpin(self, cell, token);
			return;
		}
		count_stay(s, token, now);
		if (!cpa_cell_replace(self, cell, token, 0)) {
			cpa_cell_unpin(self, cell, token);
			return; /* another reader goes on; or the writer uses the place again */
		}
		/* Relaxed: where to look first; all before were read, whoever stores it last. */
		__atomic_store_n(&s->tail, i + 1, __ATOMIC_RELAXED);
	}
}

/* Who closed is to be found by whoever reads the end next, too. */
static void give_back(struct cpa_self *self, struct cpa_stream_found *f)
{
	uint64_t none = 0;

	/* RELEASE: as in cpa_merge_release(). */
	if (!__atomic_compare_exchange_n(&f->stream->ended, &none, f->from[0].token->row, false,
					 __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		cpa_token_drop(self, f->from[0].token);
}

void cpa_stream_drop(struct cpa_self *self, struct cpa_stream_found *f)
{
	if (unlikely(f->ends))
		give_back(self, f);
	else
		for (unsigned i = 0; i < f->count; i++)
			if (f->from[i].token)
				cpa_cell_unpin(self, f->from[i].cell, f->from[i].token);
	f->count = 0;
}

static void join_one(struct cpa_self *self, const struct cpa_stream_found *f,
		     const struct cpa_token *token, struct cpa_wait *w)
{
	cpa_journal_stream(self, f->stream, f->bytes);
	cpa_acquire_path(self, &token->path, w);
}

/* The @first of them has been joined. */
static __attribute__((noinline)) void join_others(struct cpa_self *self,
						  const struct cpa_stream_found *f,
						  const struct cpa_token *first, struct cpa_wait *w)
{
	uint32_t from = w->from;

	for (unsigned i = 0; i < f->count; i++)
		if (f->from[i].token != first)
			join_one(self, f, f->from[i].token, w);
	w->from = from;
}

/* Join the latest first: it is the one that ended the wait. */
static void join_all(struct cpa_self *self, const struct cpa_stream_found *f, struct cpa_wait *w)
{
	const struct cpa_token *first = f->from[0].token;

	for (unsigned i = 1; i < f->count; i++)
		if (cpa_range_is_later(f->from[i].token, first))
			first = f->from[i].token;
	w->observed_only = false;
	join_one(self, f, first, w);
	w->arrived = w->now; /* it is on the path: the others end nothing */
	if (!w->from)
		w->from = first->path.node;
	if (unlikely(f->count > 1))
		join_others(self, f, first, w);
}

void cpa_stream_join(struct cpa_self *self, struct cpa_stream_found *f, bool took, bool blocked,
		     struct cpa_wait *w)
{
	struct cpa_stream *s = f->stream;

	if (blocked) {
		add(&s->waits, 1);
		add(&s->waiting, w->now - w->arrived);
	}
	join_all(self, f, w);
	if (took && cpa_stream_is_by_name(s))
		take_out(self, f, w->now);
	else if (took)
		cpa_stream_sweep(self, f, w->now);
	cpa_stream_drop(self, f);
}

void cpa_stream_close(struct cpa_self *self, struct cpa_stream *s)
{
	cpa_journal_release(self, NULL, 0, 0);
	cpa_merge_release(self, &s->ended, 0, &self->row->path);
}

void cpa_stream_room(struct cpa_self *self, struct cpa_stream *s, enum cpa_stream_room how,
		     uint64_t from)
{
	struct cpa_token *token;

	cpa_journal_release(self, NULL, 0, 0);
	token = token_new(self, how, from);
	if (token)
		put(self,
		    &s->room[__atomic_fetch_add(&s->rooms, 1, __ATOMIC_RELAXED) % CPA_STREAM_ROOMS],
		    token->row);
}

/*
 * Whether of two reads after a write was blocked the one at @released made room, rather than the one at
 * @other: the latest before the writer could go on at @woken. If all were noted later, the earliest:
 * @woken is too early when the writer was not on a processor before it was blocked, too.
 */
static bool made_room(uint64_t released, uint64_t other, uint64_t woken)
{
	if (other > woken)
		return released < other;
	return released <= woken && released >= other;
}

/* @closes: it may be the close of an end. */
static bool find_room(struct cpa_self *self, struct cpa_stream *s, uint64_t since, uint64_t woken,
		      bool closes, struct cpa_stream_found *f)
{
	cpa_stream_found_init(f, s, 0);
	for (unsigned i = 0; i < CPA_STREAM_ROOMS; i++) {
		uint64_t *cell = &s->room[i], released;
		struct cpa_token *token = cpa_cell_pin(cell);

		if (!token)
			continue;
		released = token->path.released;
		if (released <= since || (!closes && get(&token->key) == CPA_ROOM_CLOSE) ||
		    (f->count && !made_room(released, f->released, woken))) {
			cpa_cell_unpin(self, cell, token);
			continue;
		}
		if (f->count)
			cpa_cell_unpin(self, f->from[0].cell, f->from[0].token);
		f->count = 1;
		f->from[0].cell = cell;
		f->from[0].token = token;
		f->released = released;
	}
	return f->count;
}

bool cpa_stream_room_made(struct cpa_self *self, struct cpa_stream *s, uint64_t since,
			  uint64_t woken, struct cpa_stream_found *f)
{
	return find_room(self, s, since, woken, true, f);
}

bool cpa_stream_room_first(struct cpa_self *self, struct cpa_stream *s, uint64_t since,
			   struct cpa_stream_found *f)
{
	return find_room(self, s, since, 0, false, f);
}

/* Whether byte number @a is in front of number @b. */
static bool in_front(uint64_t a, uint64_t b)
{
	return (int64_t)((a - b) << 16) < 0; /* numbers have 48 bits */
}

void cpa_stream_room_last(struct cpa_self *self, struct cpa_stream *s, uint64_t since, uint64_t to,
			  struct cpa_stream_found *f)
{
	for (unsigned i = 0; i < CPA_STREAM_ROOMS; i++) {
		struct cpa_token *token = cpa_cell_pin(&s->room[i]), *best = f->from[0].token;
		bool is_later;

		if (!token)
			continue;
		is_later = get(&token->key) == CPA_ROOM_READ && token->path.released > since &&
			   in_front(get(&token->payload), to) &&
			   in_front(get(&best->payload), get(&token->payload)) &&
			   token->path.released > f->released;
		if (is_later) {
			cpa_cell_unpin(self, f->from[0].cell, best);
			f->from[0].cell = &s->room[i];
			f->from[0].token = token;
			f->released = token->path.released;
		} else {
			cpa_cell_unpin(self, &s->room[i], token);
		}
	}
}

void cpa_stream_room_join(struct cpa_self *self, struct cpa_stream_found *f, struct cpa_wait *w)
{
	add(&f->stream->blocked, 1);
	add(&f->stream->blocking, w->now - w->arrived);
	join_all(self, f, w);
	cpa_stream_drop(self, f);
}
