/* SPDX-License-Identifier: MIT */
#include "preload/stream/batch.h"

void cpa_batch_sends(struct cpa_batch *batch, int fd, const struct mmsghdr *messages, unsigned n,
		     uint64_t caller)
{
	const struct cpa_stream *s;

	batch->n = 0;
	if (!n || fd < 0)
		return;
	cpa_socket_sends_message(&batch->use[batch->n++], fd, &messages->msg_hdr, caller);
	s = batch->use[0].stream;
	if (s && !cpa_stream_is_by_name(s))
		return;
	for (; batch->n < n && batch->n < CPA_BATCH_MOST; batch->n++) {
		struct cpa_stream_use *use = &batch->use[batch->n];

		/* If the first has no address, none is looked for in others. */
		if (s && s == cpa_descriptor_out(fd))
			cpa_stream_writes(use, fd, NULL, SIZE_MAX, caller);
		else
			cpa_socket_sends_message(use, fd, &messages[batch->n].msg_hdr, caller);
	}
}

bool cpa_batch_sent(struct cpa_batch *batch, const struct mmsghdr *messages, int ret,
		    uint64_t caller)
{
	bool is_known = false;

	for (unsigned i = 0; i < batch->n; i++) {
		struct cpa_stream_use *use = &batch->use[i];
		ssize_t bytes = ret > (int)i ? (ssize_t)messages[i].msg_len : -1;

		if (use->stream && !cpa_stream_is_by_name(use->stream))
			bytes = cpa_batch_bytes(messages, ret);
		is_known |= cpa_stream_did_write(use, bytes, caller);
	}
	return is_known;
}

bool cpa_batch_received(struct cpa_stream_use *use, const struct mmsghdr *messages, int ret,
			uint64_t caller)
{
	bool is_known = false;

	if (!use->stream || ret <= 0)
		return false;
	if (!cpa_stream_is_by_name(use->stream))
		return cpa_stream_did_read(use, cpa_batch_bytes(messages, ret), NULL, caller);
	for (int i = 0; i < ret; i++)
		is_known |= cpa_stream_did_read(use, messages[i].msg_len, NULL, caller);
	return is_known;
}
