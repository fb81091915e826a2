/* SPDX-License-Identifier: MIT */
/*
 * preload/stream/stream.h - reads and writes of streams, around the original calls
 *
 *	cpa_stream_reads(&use, fd, caller);
 *	ret = read(...);
 *	if (!cpa_stream_did_read(&use, ret, ...))		false: it is like any other call
 *
 *	cpa_stream_writes(&use, fd, bytes, size, caller);
 *	ret = write(...);
 *	if (!cpa_stream_did_write(&use, ret, ...))		false: it is like any other call
 *
 * A read is one event, after the call, and one before it if a writer may wait for room; a write is one
 * before the call, and one after it if it waited for room.
 * Nothing is held during the call, which may be cancelled or left by a jump: then the record of a
 * write stays open. errno is kept by all.
 */
#ifndef CPA_PRELOAD_STREAM_STREAM_H
#define CPA_PRELOAD_STREAM_STREAM_H

#include <errno.h>
#include <sys/uio.h>

#include "preload/stream/across.h"
#include "preload/stream/descriptor.h"

/* A read or write under way. stream NULL: of nothing that is followed. */
struct cpa_stream_use {
	struct cpa_stream *stream;
	struct cpa_stream_record record; /* of a write; record.stream NULL: none */
	uint64_t value;			 /* of a write to an eventfd: what it adds; 0: not known */
	bool bare;			 /* a write without a record is under way */
	bool off;			 /* began while profiling was off: cpa_stream_is_off() */
	uint64_t there;			 /* of a write: bytes that were in the stream before */
	struct cpa_across across;
	int fd;		 /* of a read, or of a write to a pipe or connected socket */
	uint64_t called; /* of a read: the tick at which it was, on a processor; 0: not known */
	bool room;	 /* of a read: it has left its path for writers that wait for room */
	uint64_t name;	 /* of a connection, once it is known: shadow/edge/message.h */
	/* Of a connection of unix sockets, preload/stream/socket.c: */
	uint64_t socket; /* inode of the one that connects; 0: not known */
	uint64_t peer;	 /* of an accept: the same, as the kernel says; 0: it was not asked */
	bool named;	 /* it is counted as under way */
};

/* The thread may have been blocked since its last event. */
static inline bool cpa_stream_was_blocked(const struct cpa_worker *w)
{
	return cpa_clock_switched(&w->clock) && cpa_header()->clock != CPA_CLOCK_SYSCALL;
}

/* Room in @n pieces of memory. */
static inline size_t cpa_stream_room_in(const struct iovec *piece, size_t n)
{
	size_t room = 0;

	for (size_t i = 0; i < n; i++)
		room += piece[i].iov_len;
	return room;
}

/*
 * The call @use begins. Return whether no more than its bytes are to be counted, as profiling is off, and whatever it
 * moves is a byte. If so, and it still is so when the call returns, cpa_stream_stays_off(), nothing else of @use is
 * needed.
 */
static inline bool cpa_stream_is_off(struct cpa_stream_use *use)
{
	uint64_t epoch = cpa_epoch_seen();

	use->off = cpa_is_off_in(epoch) && use->stream->kind <= CPA_STREAM_TCP;
	if (use->off)
		use->across =
			(struct cpa_across){ epoch, cpa_epoch_on_before(cpa_header(), epoch) };
	return use->off;
}

/* The call, which began while profiling was off, crossed a border: it is like one that has been off from the start. */
CPA_HIDDEN void cpa_stream_was_off(struct cpa_stream_use *use);

/* Whether no border came since cpa_stream_is_off() was true. */
static inline bool cpa_stream_stays_off(struct cpa_stream_use *use)
{
	if (likely(!use->off))
		return false;
	if (likely(cpa_epoch_seen() == use->across.epoch))
		return true;
	cpa_stream_was_off(use);
	return false;
}

/* cpa_stream_reads(), of a stream. */
CPA_HIDDEN void cpa_stream_read_begin(struct cpa_stream_use *use, uint64_t caller);

static inline __attribute__((always_inline)) void cpa_stream_reads(struct cpa_stream_use *use,
								   int fd, uint64_t caller)
{
	use->stream = cpa_descriptor_in(fd);
	if (likely(!use->stream))
		return;
	use->fd = fd;
	if (cpa_stream_is_off(use))
		cpa_stream_will_be_read(use->stream);
	else
		cpa_stream_read_begin(use, caller);
}

/* cpa_stream_did_read(), of a stream. */
CPA_HIDDEN bool cpa_stream_was_read(struct cpa_stream_use *use, ssize_t ret, const void *bytes,
				    uint64_t caller);

/*
 * The read returned @ret, and its bytes lie in @bytes (NULL: in several pieces). Return whether what it
 * waited for, if it was blocked, is known, so that no time of it is external.
 */
static inline bool cpa_stream_did_read(struct cpa_stream_use *use, ssize_t ret, const void *bytes,
				       uint64_t caller)
{
	if (likely(!use->stream))
		return false;
	if (!cpa_stream_stays_off(use))
		return cpa_stream_was_read(use, ret, bytes, caller);
	if (ret > 0 && *cpa_alive)
		cpa_stream_took(use->stream, (uint64_t)ret);
	return false;
}

/* cpa_stream_writes(), of use->stream. */
CPA_HIDDEN void cpa_stream_write(struct cpa_stream_use *use, const void *bytes, size_t size,
				 uint64_t caller);

/* cpa_stream_writes(), to @stream. NULL: to none. */
static inline __attribute__((always_inline)) void
cpa_stream_writes_to(struct cpa_stream_use *use, int fd, struct cpa_stream *stream,
		     const void *bytes, size_t size, uint64_t caller)
{
	use->stream = stream;
	use->fd = fd;
	if (likely(!stream))
		return;
	if (cpa_stream_is_off(use)) {
		use->there = cpa_stream_there(use->stream);
		cpa_stream_write_bare(use->stream);
	} else {
		cpa_stream_write(use, bytes, size, caller);
	}
}

/*
 * A write of @size (SIZE_MAX: not known) @bytes (NULL: they lie in several pieces) is about to begin. Once it has, another thread
 * may have been woken by it, and have freed them: they are not read later.
 */
static inline __attribute__((always_inline)) void cpa_stream_writes(struct cpa_stream_use *use,
								    int fd, const void *bytes,
								    size_t size, uint64_t caller)
{
	cpa_stream_writes_to(use, fd, cpa_descriptor_out(fd), bytes, size, caller);
}

/* cpa_stream_did_write(), of a stream. */
CPA_HIDDEN bool cpa_stream_was_written(struct cpa_stream_use *use, ssize_t ret, uint64_t caller);

/* The write returned @ret. Return whether it is known what it waited for, or it was not blocked. */
static inline bool cpa_stream_did_write(struct cpa_stream_use *use, ssize_t ret, uint64_t caller)
{
	if (likely(!use->stream))
		return false;
	if (!cpa_stream_stays_off(use))
		return cpa_stream_was_written(use, ret, caller);
	if (*cpa_alive)
		cpa_stream_wrote_bare(use->stream, ret > 0 ? (uint64_t)ret : 0);
	return false;
}

/*
 * A call that was asked to write @size bytes (0: not known how many) has returned @ret. If there was no room
 * for all, reads leave their paths for a wait for room.
 */
static inline void cpa_stream_had_room(const struct cpa_stream_use *use, ssize_t ret, size_t size)
{
	struct cpa_stream *s = use->stream;

	if (unlikely(s) && *cpa_alive && s->kind != CPA_STREAM_TERMINAL)
		cpa_stream_set_full(s, ret < 0 ? errno == EAGAIN : (size_t)ret < size);
}

/*
 * A read of a descriptor of @kind that is not followed, or a wait for it, was blocked for @ticks: count
 * that, unless one of them is 0. errno is kept.
 */
CPA_HIDDEN void cpa_stream_not_followed(enum cpa_stream_kind kind, uint64_t ticks);

/*
 * An event at which the thread joins what was @found: it waited for that, if it was @blocked, in a call
 * @called at that tick (0: not known), or read it, if it @took bytes. Inside our code only.
 */
CPA_HIDDEN void cpa_stream_take(struct cpa_worker *w, struct cpa_stream_found *found, bool took,
				bool blocked, uint64_t called, enum cpa_event_kind kind,
				uint64_t caller);

/*
 * A write, or a wait for room in poll(), was blocked, and waited for a read of the session, which made room. It is not known which if the
 * reader did not see the write begin, and is not back from its read. Of a write @use that may have waited several
 * times @end is the number behind its last byte; else 0. Inside our code only.
 */
CPA_HIDDEN void cpa_stream_waited_for_room(struct cpa_worker *w, struct cpa_stream *s,
					   const struct cpa_stream_use *use, uint64_t end,
					   uint64_t caller);

#endif
