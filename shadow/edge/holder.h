/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/holder.h - whether all who had a stream open for writing were seen to close it
 *
 * A stream ends when its last descriptor for writing is closed, in whatever process. Of a stream that a
 * call which was seen made, its descriptors are counted: one more before there is another one, one less
 * before one is closed. Then a reader that meets the end knows:
 *
 *	none is left	the last one that was counted made the end, however late the kernel closed it
 *	some are left	somebody who was not seen to close it did: a program outside, one that was killed
 *
 * A stream with a descriptor that went where nobody counts is astray: nothing follows from the count.
 * What is not seen makes the count too high, so that the end depends on nobody. Then the end is known by
 * its time: it is that of a close that was seen if the reader was woken before that had returned, or soon
 * after. The thread may lose its processor on the way into the kernel, for any time, so calls under way
 * are counted, too. A process that is killed in one, or a signal handler that jumps out of one, leaves
 * that count too high: then each end is taken for one that was seen.
 */
#ifndef CPA_SHADOW_EDGE_HOLDER_H
#define CPA_SHADOW_EDGE_HOLDER_H

#include "shadow/edge/stream.h"

enum cpa_holders {
	CPA_HOLDERS_UNKNOWN,
	CPA_HOLDERS_NONE,
	CPA_HOLDERS_SOME,
};

/* The stream has just been made, with one descriptor for writing. */
static inline void cpa_holder_first(struct cpa_stream *s)
{
	/* Relaxed, all: who closes a descriptor does so after this, and the kernel orders ends and reads. */
	__atomic_store_n(&s->holders, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&s->closed_at, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&s->closing, 0, __ATOMIC_RELAXED);
	cpa_stream_closed(s, CPA_STREAM_COUNTED);
}

/* There will be one more. */
static inline void cpa_holder_more(struct cpa_stream *s)
{
	__atomic_fetch_add(&s->holders, 1, __ATOMIC_RELAXED);
}

/* One is about to be closed. */
static inline void cpa_holder_less(struct cpa_stream *s)
{
	/* Relaxed, both: see above. The tick is that of an earlier call. */
	if (!__atomic_sub_fetch(&s->holders, 1, __ATOMIC_RELAXED))
		__atomic_store_n(&s->closed_at, 0, __ATOMIC_RELAXED);
}

/* The thread is about to leave its path in cpa_stream_close(), and then to call what closes or shuts down. */
static inline void cpa_holder_closing(struct cpa_stream *s)
{
	/* Relaxed: the path, which is released, comes after it. */
	__atomic_fetch_add(&s->closing, 1, __ATOMIC_RELAXED);
}

/* That call has returned, at tick @now; 0: it is not known when it closed, or whether. */
static inline void cpa_holder_closed(struct cpa_stream *s, uint64_t now)
{
	uint64_t latest = __atomic_load_n(&s->closed_at, __ATOMIC_RELAXED);
	uint32_t closing = __atomic_load_n(&s->closing, __ATOMIC_RELAXED);

	while (latest < now && !__atomic_compare_exchange_n(&s->closed_at, &latest, now, true,
							    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	/*
	 * None: a signal handler in the call has forked, and it returned in both processes.
	 * RELEASE: pairs with cpa_holders_closed(), which finds the tick.
	 */
	while (closing && !__atomic_compare_exchange_n(&s->closing, &closing, closing - 1, true,
						       __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

static inline void cpa_holder_astray(struct cpa_stream *s)
{
	/* Relaxed: the bit is set before anybody else can have a descriptor. */
	if (__atomic_load_n(&s->closed, __ATOMIC_RELAXED) & CPA_STREAM_COUNTED)
		cpa_stream_closed(s, CPA_STREAM_ASTRAY);
}

/* A reader has met the end. */
static inline enum cpa_holders cpa_holders(struct cpa_stream *s)
{
	uint32_t bits = cpa_stream_closed(s, 0);

	/* Relaxed: see above. */
	if (!(bits & CPA_STREAM_COUNTED) || bits & CPA_STREAM_ASTRAY ||
	    __atomic_load_n(&cpa_header()->strays, __ATOMIC_RELAXED))
		return CPA_HOLDERS_UNKNOWN;
	return __atomic_load_n(&s->holders, __ATOMIC_RELAXED) ? CPA_HOLDERS_SOME : CPA_HOLDERS_NONE;
}

/*
 * The tick at which all had closed the stream who said so; the latest of them left its path at @released.
 * 0: that may be still to come.
 */
static inline uint64_t cpa_holders_closed(struct cpa_stream *s, enum cpa_holders left,
					  uint64_t released)
{
	/* ACQUIRE: pairs with cpa_holder_closed(). */
	uint32_t closing = __atomic_load_n(&s->closing, __ATOMIC_ACQUIRE);
	uint64_t closed = __atomic_load_n(&s->closed_at, __ATOMIC_RELAXED);

	if (closing)
		return 0;
	if (left == CPA_HOLDERS_NONE)
		return cpa_stream_closed(s, 0) & CPA_STREAM_KEPT ? 0 : closed;
	/* A process that ended has left its path, and no tick. */
	return closed > released ? closed : released;
}

#endif
