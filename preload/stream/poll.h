/* SPDX-License-Identifier: MIT */
/*
 * preload/stream/poll.h - waits for several descriptors
 *
 * Such a wait depends on the write whose bytes the next read of the descriptor will take, whoever
 * reads. Of several descriptors that are ready it is the one that was written first. If none is ready for a
 * read, the wait depends on the read that made room for one whose latest write found too little. Each function is
 * called behind a call that returned @ret and may have been blocked; it returns whether a wait was
 * recorded. If none was, @use->other is the kind of a descriptor that is ready and not followed, if there is
 * one. errno is kept.
 */
#ifndef CPA_PRELOAD_STREAM_POLL_H
#define CPA_PRELOAD_STREAM_POLL_H

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "preload/stream/stream.h"
#include "preload/stream/terminal.h"

/* A wait under way. */
struct cpa_polling {
	uint64_t since; /* tick before the call; 0: it is for no terminal, or that is not known */
	struct cpa_across across;
	enum cpa_stream_kind other;
};

static inline struct cpa_polling cpa_poll_begins(void)
{
	return (struct cpa_polling){ .since = cpa_terminal_call(), .across = cpa_across_begin() };
}

CPA_HIDDEN bool cpa_poll_ended(const struct pollfd *fds, nfds_t n, int ret, uint64_t caller,
			       struct cpa_polling *use);

/* A receive of @fd that left the bytes there (MSG_PEEK) is such a wait. */
static inline bool cpa_peek_ended(int fd, ssize_t ret, uint64_t caller)
{
	struct pollfd p = { fd, POLLIN, POLLIN };
	struct cpa_polling use = { 0 };

	return cpa_poll_ended(&p, 1, ret >= 0, caller, &use);
}

CPA_HIDDEN bool cpa_select_ended(int n, const fd_set *in, const fd_set *out, int ret,
				 uint64_t caller, struct cpa_polling *use);
CPA_HIDDEN bool cpa_epoll_ended(int epoll, const struct epoll_event *events, int ret,
				uint64_t caller, struct cpa_polling *use);

#endif
