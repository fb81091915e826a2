/* SPDX-License-Identifier: MIT */
/*
 * preload/stream/splice.h - calls that move bytes from one stream to another: splice(), tee(), sendfile()
 *
 *	if (!cpa_splice_is_between(&use, in, out))	false: one of them is not followed, or not by bytes
 *		...
 *	cpa_splice_begins(&use, in, out, n, flags, takes, caller);
 *	ret = splice(...);
 *	if (!cpa_splice_ended(&use, ret, n, caller))	false: it is like any other call
 *
 * Such a call is a write of the second stream, before the original call, and a read of the first behind it:
 * preload/stream/stream.h. If it was blocked, it waited for bytes or for room. For which is known where there
 * were bytes before, or the second is a pipe that was empty; if it is not, the kernel is asked before the call.
 * To a socket it waits for bytes first, and for room after that: then it has slept at least twice.
 * errno is kept by all.
 */
#ifndef CPA_PRELOAD_STREAM_SPLICE_H
#define CPA_PRELOAD_STREAM_SPLICE_H

#include "preload/stream/descriptor.h"

struct cpa_splice {
	struct cpa_stream *in, *out;
	uint32_t row;			 /* of `in` */
	struct cpa_stream_record record; /* stream NULL: none */
	bool bare;			 /* there is none: it writes without */
	uint64_t begun;			 /* tick of the event before the call */
	bool takes;			 /* the bytes are taken out of `in` */
	bool filled;			 /* there were bytes: it does not wait for them */
	bool roomy;			 /* there was room: it does not wait for that */
	bool full;			 /* there was none */
	uint64_t slept; /* times that the thread had slept, if it may wait for both in turn; else UINT64_MAX */
	bool room; /* it has left its path for writers of `in` that wait for room */
};

/* Whether @in and @out are ends of two streams of bytes that are followed. */
static inline bool cpa_splice_is_between(struct cpa_splice *use, int in, int out)
{
	uint32_t to;

	use->row = cpa_descriptor_reads(cpa_descriptor_known(in));
	to = use->row ? cpa_descriptor_writes(cpa_descriptor_known(out)) : 0;
	if (!to)
		return false;
	use->in = cpa_stream(use->row);
	use->out = cpa_stream(to);
	return use->in->kind <= CPA_STREAM_TCP && use->out->kind <= CPA_STREAM_TCP;
}

/* The same of sendfile(), which takes bytes of a stream for a pipe alone: only then @in is looked at. */
static inline bool cpa_splice_is_to_pipe(struct cpa_splice *use, int in, int out)
{
	const struct cpa_stream *s = cpa_descriptor_out(out);

	return unlikely(s && s->kind == CPA_STREAM_PIPE) && cpa_splice_is_between(use, in, out);
}

/* The thread is about to move @n bytes, with @flags of splice(); @takes: out of @in. */
CPA_HIDDEN void cpa_splice_begins(struct cpa_splice *use, int in, int out, size_t n, unsigned flags,
				  bool takes, uint64_t caller);

/* @ret of @n bytes were moved. Return whether what the call waited for, if it was blocked, is known. */
CPA_HIDDEN bool cpa_splice_ended(struct cpa_splice *use, ssize_t ret, size_t n, uint64_t caller);

#endif
