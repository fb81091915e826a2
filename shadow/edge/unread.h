/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/unread.h - records of bytes that nobody in the session reads
 *
 * The answers of a server to programs outside leave records that no read frees. They go, in two ways.
 *
 * Outward: more was written than the kernel keeps for a reader that does not come, and nobody in the session has
 * read: a program outside has. Then writes leave no records, and are no events. If somebody in the session reads
 * the stream after all, the writes behind that have records again.
 *
 * Closed: when an end of a stream is closed, its records may still be wanted, by a reader that comes later. So
 * the last CPA_STREAMS_CLOSED that were closed are kept in order, in a ring that all processes share. The one whose
 * place is needed is cleared, if it is over: nothing was written or read since then. If something was, a
 * process has the stream open, and will close it later. A reader that comes after that depends on nobody, which is
 * counted as any unmatched read.
 *
 * All may overlap with each other, and with reads and writes of the stream. Progress: wait-free, but for
 * cpa_stream_clear().
 */
#ifndef CPA_SHADOW_EDGE_UNREAD_H
#define CPA_SHADOW_EDGE_UNREAD_H

#include "shadow/edge/stream.h"

/*
 * Each write takes at least 768 bytes of the buffer of a unix socket, which has some 200 KiB; a pipe, or TCP, has
 * up to some MiB, of bytes.
 */
#define CPA_OUTWARD_WRITES 4096u
#define CPA_OUTWARD_BYTES  (UINT64_C(16) << 20)

/* Whether the stream is outward: of the next write, no more than the number and the bytes are to be counted. */
static inline bool cpa_unread_is_outward(const struct cpa_stream *s)
{
	/* Relaxed: a reader that comes now misses some records. */
	uint32_t bits = __atomic_load_n(&s->closed, __ATOMIC_RELAXED);

	return (bits & (CPA_STREAM_OUTWARD | CPA_STREAM_READ)) == CPA_STREAM_OUTWARD;
}

static inline void cpa_unread_write(struct cpa_stream *s)
{
	/* Relaxed: a statistic. */
	__atomic_fetch_add(&s->records, 1, __ATOMIC_RELAXED);
}

/* Whether there were enough writes for the stream to be outward, and that is not decided yet. */
static inline bool cpa_unread_is_much(const struct cpa_stream *s)
{
	/* Relaxed, all: hints. */
	uint64_t bytes = __atomic_load_n(&s->written, __ATOMIC_RELAXED) & CPA_STREAM_BYTES;

	if (likely(bytes < CPA_OUTWARD_BYTES) &&
	    likely(s->kind != CPA_STREAM_UNIX ||
		   __atomic_load_n(&s->records, __ATOMIC_RELAXED) < CPA_OUTWARD_WRITES))
		return false;
	return s->kind <= CPA_STREAM_TCP && !(__atomic_load_n(&s->closed, __ATOMIC_RELAXED) &
					      (CPA_STREAM_OUTWARD | CPA_STREAM_READ));
}

/* There are: the stream is outward if nobody in the session has read it. Its records go. */
CPA_HIDDEN void cpa_unread_decide(struct cpa_self *self, struct cpa_stream *s);

/* An end of the stream in row @row was closed, as its bits say. The thread may have other records to free. */
CPA_HIDDEN void cpa_unread_closed(struct cpa_self *self, uint32_t row);

#endif
