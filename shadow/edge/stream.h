/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/stream.h - byte streams: a read depends on the writes whose bytes it took
 *
 * A write leaves a record before the original call: a token with the thread's path. The record is
 * open until the call returned; then the bytes [key, payload) are known to be its. A read that took n
 * bytes advances `taken`, and joins the records of its range. Bytes of the range that no closed record
 * has are those of an open one, whose writer has not yet come back. With one writer at a time this is
 * exact. Of several open records it is the latest, which is counted as uncertain.
 *
 * Place i of the records is cell i modulo CPA_STREAM_RECORDS: a reader pins a record while it joins
 * it. A writer that needs the place of a record that was not read drops that record; a read of its
 * bytes then depends on nothing. A stream's last bytes have their records always.
 *
 *            write  read  close    "-": the calls may overlap, in several threads and processes
 *   write      -      -     -
 *   read       -      -     -
 *   close      -      -     -
 *
 * Writes that are under way together may go through in another order than they began: the bytes of a record
 * may come behind those of up to CPA_STREAM_BEHIND later ones. A write that failed left no bytes: its place
 * is given back, or used again by the thread's next write of the stream. So threads that try a full pipe
 * over and over, without to block, drop no records.
 *
 * A call that moves bytes from one stream to another (splice(), tee()) is a write whose path is known when it
 * has returned, as it depends on those who wrote the bytes. So it has two records, one after the other in the
 * same place. The first is open, has the path before the call, and names the source and how many of its bytes
 * were taken then: a reader that is back before the call is joins those who wrote the bytes there itself. The
 * second has the path behind the call, and is closed as any. Then only, the records of the source may go: a
 * reader that does not find one of them finds the second record.
 *
 * I1  A record's writer has it pinned until it is closed: what it closes is the same record still.
 * I2  Records below `tail` were read to their ends, or dropped.
 * I3  A process may be killed at any point. What it leaves is a record that stays open, a place
 *     without record or a token that nobody frees; each is passed over when the places come round.
 * Progress: lock-free; loops are bounded by CPA_STREAM_RECORDS.
 */
#ifndef CPA_SHADOW_EDGE_STREAM_H
#define CPA_SHADOW_EDGE_STREAM_H

#include "shadow/edge/acquire.h"
#include "shadow/store/table.h"

/*
 * Threads whose writes one read is joined with. Of more it is the latest and those with the longest
 * paths, so the length of the reader's path is right; savings may be too large.
 */
#define CPA_STREAM_OWNERS 16u

#define CPA_STREAM_BEHIND 32u

#define CPA_STREAM_OPEN UINT64_MAX /* payload of a record whose write has not returned */

#define CPA_STREAM_PASSED 4u /* streams in a row through which a read in time looks for who wrote */
#define CPA_STREAM_SOURCE \
	48u /* token's `source`, of a call that moves bytes: {source's row:16, its bytes taken:48} */

static inline struct cpa_stream *cpa_stream(uint32_t row)
{
	return cpa_row(CPA_TABLE_STREAMS, row);
}

/*
 * Return the row of the stream with @key, which is not 0. @waiting: if the stream is new, bytes that
 * are in it. 0: no space (counted).
 */
CPA_HIDDEN uint32_t cpa_stream_intern(uint64_t key, enum cpa_stream_kind kind, uint64_t waiting);

/* The row of the stream with @key; 0: there is none. */
static inline uint32_t cpa_stream_find(uint64_t key)
{
	return cpa_table_find(CPA_TABLE_STREAMS, key);
}

/* Whether reads find their writes by name: shadow/edge/message.h. */
static inline bool cpa_stream_is_by_name(const struct cpa_stream *s)
{
	return s->kind >= CPA_STREAM_PACKET;
}

/* Whether a read that returns 0 is the end of the stream. */
static inline bool cpa_stream_has_end(const struct cpa_stream *s)
{
	return s->kind <= CPA_STREAM_PACKET;
}

/* An end of the stream is closed: @bits of CPA_STREAM_NO_.... Return all that are. */
static inline uint32_t cpa_stream_closed(struct cpa_stream *s, uint32_t bits)
{
	/* Relaxed: who opens the next stream of the same key does so later. */
	return __atomic_or_fetch(&s->closed, bits, __ATOMIC_RELAXED);
}

/* An end of a stream that is known by a name is there again: none of @bits holds. */
static inline void cpa_stream_opened(struct cpa_stream *s, uint32_t bits)
{
	/* Relaxed, both: no other data depends on these bits. */
	if (__atomic_load_n(&s->closed, __ATOMIC_RELAXED) & bits)
		__atomic_fetch_and(&s->closed, ~bits, __ATOMIC_RELAXED);
}

/*
 * A thread of the session is about to read the stream, in a part of the run or not: to be called before the
 * original, which may take bytes long before it returns.
 */
static inline void cpa_stream_will_be_read(struct cpa_stream *s)
{
	/* Relaxed: the kernel's own lock on the stream orders this and what a writer finds was taken. */
	if (unlikely(!(__atomic_load_n(&s->closed, __ATOMIC_RELAXED) & CPA_STREAM_READ)))
		cpa_stream_closed(s, CPA_STREAM_READ);
}

/* Free the tokens of the stream. Writes under way keep theirs until they end. cpa_stream_clear_rooms(): of reads. */
CPA_HIDDEN void cpa_stream_clear(struct cpa_self *self, struct cpa_stream *s);
CPA_HIDDEN void cpa_stream_clear_rooms(struct cpa_self *self, struct cpa_stream *s);

/* A record of a thread: a write under way, or, in `room`, a read. */
struct cpa_stream_record {
	struct cpa_stream *stream;
	uint64_t *cell; /* NULL: no space for a record */
	uint64_t place;
	struct cpa_token *token;
	bool fits; /* there is room for the write: it does not wait for a read */
};

/*
 * The thread is about to write @size bytes, SIZE_MAX: not known how many: leave its path, which stands at
 * the write's event. Each begin has one end, with the bytes written; 0: none. It returns the number of the first.
 * cpa_stream_wrote(): bytes without a record.
 */
CPA_HIDDEN void cpa_stream_write_begin(struct cpa_self *self, struct cpa_stream *s, size_t size,
				       struct cpa_stream_record *record);
CPA_HIDDEN uint64_t cpa_stream_write_end(struct cpa_self *self, struct cpa_stream_record *record,
					 uint64_t bytes);
static inline void cpa_stream_wrote(struct cpa_stream *s, uint64_t bytes)
{
	/* Relaxed, as all counters of bytes: the pipe itself orders writes and reads. */
	__atomic_fetch_add(&s->written, bytes & CPA_STREAM_BYTES, __ATOMIC_RELAXED);
}

/*
 * The thread is about to write without a record, as profiling is off. It may be on when a reader finds the bytes,
 * before they are counted: the reader then knows that somebody is in a write. Each begin has one end, with the bytes.
 */
static inline void cpa_stream_write_bare(struct cpa_stream *s)
{
	/* Relaxed, both: see cpa_stream_wrote(). */
	__atomic_fetch_add(&s->written, CPA_STREAM_BARE, __ATOMIC_RELAXED);
}
static inline void cpa_stream_wrote_bare(struct cpa_stream *s, uint64_t bytes)
{
	__atomic_fetch_add(&s->written, (bytes & CPA_STREAM_BYTES) - CPA_STREAM_BARE,
			   __ATOMIC_RELAXED);
}

/* The write of @record failed: give its place back, if it is the last one. Return whether it was. */
CPA_HIDDEN bool cpa_stream_write_failed(struct cpa_self *self, struct cpa_stream_record *record);

/*
 * The write of @record has begun, and will move bytes from the stream in row @source: to be called before the
 * original. If it moved @bytes, more than 0, which are those from number @from on, it ends with
 * cpa_stream_pass_end(), when the thread has joined those who wrote them; its path stands at an event.
 */
CPA_HIDDEN void cpa_stream_pass(struct cpa_stream_record *record, uint32_t source);
CPA_HIDDEN void cpa_stream_pass_end(struct cpa_self *self, struct cpa_stream_record *record,
				    uint64_t from, uint64_t bytes);

/* What a read depends on; the records are pinned. */
struct cpa_stream_found {
	struct cpa_stream *stream;
	uint64_t end;	   /* of the bytes read; by name: place of the record */
	uint64_t bytes;	   /* that were read */
	uint64_t released; /* clock of the latest of the writes */
	uint32_t count;
	bool ends; /* the path is that of who closed the stream */
	struct {
		uint64_t *cell;
		struct cpa_token *token; /* NULL: no longer pinned */
	} from[CPA_STREAM_OWNERS];
};

static inline void cpa_stream_found_init(struct cpa_stream_found *f, struct cpa_stream *s,
					 uint64_t end)
{
	f->stream = s;
	f->end = end;
	f->bytes = 0;
	f->released = 0;
	f->count = 0;
	f->ends = false;
}

/* The first place, of @places so far, that may have a record; those before it were dropped. */
static inline uint64_t cpa_stream_first_place(const struct cpa_stream *s, uint64_t places)
{
	/* Relaxed: where to look first. */
	uint64_t tail = __atomic_load_n(&s->tail, __ATOMIC_RELAXED);
	uint64_t most = places < CPA_STREAM_RECORDS ? 0 : places - CPA_STREAM_RECORDS;

	return tail < most ? most : tail;
}

/* The thread is one of those that read the stream. */
CPA_HIDDEN void cpa_stream_reader(const struct cpa_self *self, struct cpa_stream *s);

/*
 * A read got @bytes, of which @from is the number of the first: find what it depends on. False: that is not
 * known (counted), and nothing is pinned. cpa_stream_read(): the next @bytes, which it took.
 * cpa_stream_took(): no more than count them. Return the number of the first.
 */
CPA_HIDDEN bool cpa_stream_read_from(struct cpa_self *self, struct cpa_stream *s, uint64_t from,
				     uint64_t bytes, struct cpa_stream_found *found);
static inline uint64_t cpa_stream_took(struct cpa_stream *s, uint64_t bytes)
{
	/* Relaxed: as cpa_stream_wrote(). */
	return __atomic_fetch_add(&s->taken, bytes, __ATOMIC_RELAXED);
}
static inline bool cpa_stream_read(struct cpa_self *self, struct cpa_stream *s, uint64_t bytes,
				   struct cpa_stream_found *found)
{
	return cpa_stream_read_from(self, s, cpa_stream_took(s, bytes), bytes, found);
}

/*
 * A read waited for @ticks for a descriptor of @kind that is not followed: count that in the one row for
 * this kind. The key of such a row is the kind; the key of a stream's row is a hash.
 */
CPA_HIDDEN void cpa_stream_outside(const struct cpa_self *self, enum cpa_stream_kind kind,
				   uint64_t ticks);

/* Find the write that the next read will depend on, without reading. False: not known. */
CPA_HIDDEN bool cpa_stream_next(struct cpa_self *self, struct cpa_stream *s,
				struct cpa_stream_found *found);

/* A read met the end: find the paths of all who closed the other end. False: as cpa_stream_read(). */
CPA_HIDDEN bool cpa_stream_end(struct cpa_self *self, struct cpa_stream *s,
			       struct cpa_stream_found *found);

/*
 * Join what was found into the thread's path, as an acquire; @blocked: the thread waited for it.
 * The records are no longer pinned. Records that were read to their end are freed, if @took.
 */
CPA_HIDDEN void cpa_stream_join(struct cpa_self *self, struct cpa_stream_found *found, bool took,
				bool blocked, struct cpa_wait *wait);

/* What was joined, but not taken, has been taken: records that were read to their ends are freed. */
CPA_HIDDEN void cpa_stream_sweep(struct cpa_self *self, struct cpa_stream_found *found,
				 uint64_t now);

/* Nothing is joined. */
CPA_HIDDEN void cpa_stream_drop(struct cpa_self *self, struct cpa_stream_found *found);

/* The thread is about to close an end for writing, or its process ends with one open. */
CPA_HIDDEN void cpa_stream_close(struct cpa_self *self, struct cpa_stream *s);

/* Whether the latest write of a thread that does not block found too little room, or threads wait before they write. */
static inline bool cpa_stream_is_full(const struct cpa_stream *s)
{
	/* Relaxed: as in cpa_stream_is_written(). */
	return __atomic_load_n(&s->closed, __ATOMIC_RELAXED) &
	       (CPA_STREAM_FULL | CPA_STREAM_POLLED);
}

static inline void cpa_stream_set_full(struct cpa_stream *s, bool full)
{
	/* Relaxed: as in cpa_stream_is_written(). */
	bool is = __atomic_load_n(&s->closed, __ATOMIC_RELAXED) & CPA_STREAM_FULL;

	if (likely(is == full))
		return;
	if (full)
		__atomic_fetch_or(&s->closed, CPA_STREAM_FULL, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&s->closed, ~CPA_STREAM_FULL, __ATOMIC_RELAXED);
}

/* Whether a thread is in a write, or has left one, and may wait for a read to make room. A hint. */
static inline bool cpa_stream_is_written(const struct cpa_stream *s)
{
	/* Relaxed: a writer that comes later blocks later. */
	return __atomic_load_n(&s->written, __ATOMIC_RELAXED) >= CPA_STREAM_WRITING ||
	       cpa_stream_is_full(s);
}

/* Whether there are bytes in it: of a write that has returned. */
static inline bool cpa_stream_is_filled(const struct cpa_stream *s)
{
	/* Relaxed: the calling thread is the only reader, and asks for what it knows itself. */
	uint64_t taken = __atomic_load_n(&s->taken, __ATOMIC_RELAXED);

	return (int64_t)((__atomic_load_n(&s->written, __ATOMIC_RELAXED) - taken) << 16) > 0;
}

/* Whether nothing is in it, and nobody is in a write that may wait. */
static inline bool cpa_stream_is_empty(const struct cpa_stream *s)
{
	/* Relaxed: as above, of the thread which alone writes. */
	return __atomic_load_n(&s->written, __ATOMIC_RELAXED) ==
	       __atomic_load_n(&s->taken, __ATOMIC_RELAXED);
}

/* How many bytes of writes that have returned are in it, of which it is not known that they were read. */
static inline uint64_t cpa_stream_there(const struct cpa_stream *s)
{
	/* Relaxed: a hint. */
	return (__atomic_load_n(&s->written, __ATOMIC_RELAXED) -
		__atomic_load_n(&s->taken, __ATOMIC_RELAXED)) &
	       CPA_STREAM_BYTES;
}

/* Whether a read has made room ever. */
static inline bool cpa_stream_has_rooms(const struct cpa_stream *s)
{
	/* Relaxed: a hint. */
	return __atomic_load_n(&s->rooms, __ATOMIC_RELAXED);
}

/*
 * The thread's read of the bytes from number @from on makes room, or it closes an end for reading: leave its path for
 * writers.
 */
enum cpa_stream_room { CPA_ROOM_READ, CPA_ROOM_CLOSE };
CPA_HIDDEN void cpa_stream_room(struct cpa_self *self, struct cpa_stream *s,
				enum cpa_stream_room how, uint64_t from);

/*
 * A write was blocked from @since and could go on at clock @woken. Find the latest read in between, which
 * made room; if there is none, the earliest after @woken. False: none is known.
 */
CPA_HIDDEN bool cpa_stream_room_made(struct cpa_self *self, struct cpa_stream *s, uint64_t since,
				     uint64_t woken, struct cpa_stream_found *found);

/* There was no room at clock @since. Find the earliest read since then. False: none is known. */
CPA_HIDDEN bool cpa_stream_room_first(struct cpa_self *self, struct cpa_stream *s, uint64_t since,
				      struct cpa_stream_found *found);

/*
 * Such a write may have waited several times, as it fills the stream more than once. It could not return before all
 * bytes in front of number @to were read: of the reads after @since the last one that began there made room, if it is
 * later than what was @found, and is then found in its place.
 */
CPA_HIDDEN void cpa_stream_room_last(struct cpa_self *self, struct cpa_stream *s, uint64_t since,
				     uint64_t to, struct cpa_stream_found *found);

/* The write waited from @wait->arrived for what was found: join it. */
CPA_HIDDEN void cpa_stream_room_join(struct cpa_self *self, struct cpa_stream_found *found,
				     struct cpa_wait *wait);

#endif
