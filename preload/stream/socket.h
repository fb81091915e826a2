/* SPDX-License-Identifier: MIT */
/*
 * preload/stream/socket.h - connections and messages, around the original calls
 *
 * A connection is a write to the stream of its listening socket, and accept() is a read of that:
 * connect() that waits for room in the queue depends on the accept() that made it. Functions come in
 * pairs, as in preload/stream/stream.h. errno is kept by all.
 *
 * What the program passes to the kernel may be no memory that can be read: the call fails then, and so
 * must cpa not before. Such memory is read after the kernel was asked whether it can be.
 */
#ifndef CPA_PRELOAD_STREAM_SOCKET_H
#define CPA_PRELOAD_STREAM_SOCKET_H

#include <sys/socket.h>

#include "preload/stream/stream.h"

/* The address in an argument of type __CONST_SOCKADDR_ARG, which is a union of pointers. */
#define CPA_ADDRESS(argument) ((const void *)(argument).__sockaddr__)

/* The thread is about to connect @fd to the address @to. */
CPA_HIDDEN void cpa_socket_connects(struct cpa_stream_use *use, int fd, const void *to,
				    socklen_t size, uint64_t caller);
/* connect() returned @ret. Return whether the accept() that it waited for is known. */
CPA_HIDDEN bool cpa_socket_connected(struct cpa_stream_use *use, int fd, int ret, uint64_t caller);

/* The thread is about to accept a connection at @fd. */
CPA_HIDDEN void cpa_socket_accepts(struct cpa_stream_use *use, int fd, uint64_t caller);
/* accept() returned @ret. Return as cpa_stream_did_read(). */
CPA_HIDDEN bool cpa_socket_accepted(struct cpa_stream_use *use, int ret, uint64_t caller);

/* The thread is about to send to the address @to, if there is one, or to what @fd is connected to. */
CPA_HIDDEN void cpa_socket_sends(struct cpa_stream_use *use, int fd, const void *to, socklen_t size,
				 uint64_t caller);

/* As cpa_socket_sends(), with the address in @message. */
CPA_HIDDEN void cpa_socket_sends_message(struct cpa_stream_use *use, int fd,
					 const struct msghdr *message, uint64_t caller);

#endif
