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
 * What is not seen makes the count too high, so that the end depends on nobody.
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
	cpa_stream_closed(s, CPA_STREAM_COUNTED);
}

/* There will be one more. */
static inline void cpa_holder_more(struct cpa_stream *s)
{
	__atomic_fetch_add(&s->holders, 1, __ATOMIC_RELAXED);
}

/* One is about to be closed. Return whether it is the last. */
static inline bool cpa_holder_less(struct cpa_stream *s)
{
	/* ACQ_REL: who takes the last one finds CPA_STREAM_KEPT, which was set before another was taken. */
	bool last = __atomic_sub_fetch(&s->holders, 1, __ATOMIC_ACQ_REL) == 0;

	if (last)
		__atomic_store_n(&s->closed_at, 0, __ATOMIC_RELAXED);
	return last;
}

/* The last one was closed by a call that has returned, at tick @now. */
static inline void cpa_holder_closed(struct cpa_stream *s, uint64_t now)
{
	if (!(cpa_stream_closed(s, 0) & CPA_STREAM_KEPT))
		__atomic_store_n(&s->closed_at, now, __ATOMIC_RELAXED);
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

#endif
