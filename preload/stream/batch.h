/* SPDX-License-Identifier: MIT */
/*
 * preload/stream/batch.h - several messages with one call: sendmmsg() and recvmmsg()
 *
 * Of a stream of bytes the call is one write or read. Of others each message is one. Messages that are
 * sent leave no record behind the first CPA_BATCH_MOST. Of a connected socket no other message has an address
 * if the first has none.
 * errno is kept.
 */
#ifndef CPA_PRELOAD_STREAM_BATCH_H
#define CPA_PRELOAD_STREAM_BATCH_H

#include "preload/stream/socket.h"

#define CPA_BATCH_MOST 16u

/* Messages that are being sent. Lives on the stack of the thread. */
struct cpa_batch {
	unsigned n; /* of `use` */
	struct cpa_stream_use use[CPA_BATCH_MOST];
};

/* The thread is about to send @n messages. */
CPA_HIDDEN void cpa_batch_sends(struct cpa_batch *batch, int fd, const struct mmsghdr *messages,
				unsigned n, uint64_t caller);

/* @ret of them were sent. Return as cpa_stream_did_write(). */
CPA_HIDDEN bool cpa_batch_sent(struct cpa_batch *batch, const struct mmsghdr *messages, int ret,
			       uint64_t caller);

/* @ret messages were received. Return as cpa_stream_did_read(). */
CPA_HIDDEN bool cpa_batch_received(struct cpa_stream_use *use, const struct mmsghdr *messages,
				   int ret, uint64_t caller);

/* The bytes of all @ret messages, which were sent or received. */
static inline ssize_t cpa_batch_bytes(const struct mmsghdr *messages, int ret)
{
	ssize_t bytes = ret < 0 ? -1 : 0;

	for (int i = 0; i < ret; i++)
		bytes += messages[i].msg_len;
	return bytes;
}

#endif
