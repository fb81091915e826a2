/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/unread.h - records of bytes that nobody in the session reads
 *
 * The answers of a server to programs outside leave records that no read frees. They go, in two ways.
 *
 * Outward: nobody in the session has read the stream, or begun to, and the kernel holds less than was written: a
 * program outside has read it. Then writes leave no records, and are no events. If somebody in the session reads
 * it after all, the writes behind that have records again. The kernel is asked at each CPA_STREAM_RECORDS-th write.
 *
 * Closed: when an end of a stream is closed, its records may still be wanted, by a reader that comes later. So
 * the last CPA_STREAMS_CLOSED that were closed are kept in order, in a ring that all processes share, unless
 * somebody is known to have one open for writing: who closes that will come. The one whose place is needed is
 * cleared, if nothing was written or read since then. If something was, a process has the stream open, and will
 * close it later. A reader that comes after that depends on nobody, which is counted as any unmatched read.
 *
 * Records of a stream that somebody in the session has read are kept. That a process closes an end for reading does
 * not say that none is left: each command of a shell's loop has the descriptor that the loop reads.
 *
 * All may overlap with each other, and with reads and writes of the stream. Progress: wait-free, but for
 * cpa_stream_clear().
 */
#ifndef CPA_SHADOW_EDGE_UNREAD_H
#define CPA_SHADOW_EDGE_UNREAD_H

#include "shadow/edge/holder.h"

/* A receiver of TCP holds so many bytes at most which the sender's kernel has no more. */
#define CPA_OUTWARD_TCP (UINT64_C(16) << 20)

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

/* Whether it is time to ask the kernel whether the stream is outward. */
static inline bool cpa_unread_is_much(const struct cpa_stream *s)
{
	/* Relaxed, both: hints. Of threads that write at the same time one may miss its turn. */
	uint64_t records = __atomic_load_n(&s->records, __ATOMIC_RELAXED);

	if (likely(records % CPA_STREAM_RECORDS || !records))
		return false;
	return s->kind <= CPA_STREAM_TCP && !(__atomic_load_n(&s->closed, __ATOMIC_RELAXED) &
					      (CPA_STREAM_OUTWARD | CPA_STREAM_READ));
}

/*
 * The kernel of the writer holds @waiting of the bytes that were written, or a number above that: the stream is
 * outward if they cannot be all. Its records go.
 */
CPA_HIDDEN void cpa_unread_decide(struct cpa_self *self, struct cpa_stream *s, uint64_t waiting);

/* Whether nobody is known to write the stream, or to be able to. If not, who makes it over will close it later. */
static inline bool cpa_unread_is_over(struct cpa_stream *s)
{
	/* Relaxed: as above. */
	return cpa_holders(s) != CPA_HOLDERS_SOME &&
	       __atomic_load_n(&s->written, __ATOMIC_RELAXED) < CPA_STREAM_WRITING;
}

/* An end of the stream in row @row was closed, as its bits say. The thread may have other records to free. */
CPA_HIDDEN void cpa_unread_closed(struct cpa_self *self, uint32_t row);

#endif
