/* SPDX-License-Identifier: MIT */
/*
 * preload/stream/address.h - streams that are known by the address of a socket
 *
 * All connections to a listening socket are a stream, and all messages to a socket of datagrams. Its
 * key is the kind and the address: of UDP and TCP address and port, of unix sockets the file that their name
 * leads to, or an abstract name. A socket that is bound to any address is known by its family and port. Who sends only
 * finds the stream; it is made when its receiver is bound, listens, or is first used.
 *
 * One system call for a path, or another address of the machine, no lock; async-signal-safe. errno is changed.
 */
#ifndef CPA_PRELOAD_STREAM_ADDRESS_H
#define CPA_PRELOAD_STREAM_ADDRESS_H

#include <sys/socket.h>

#include "shadow/edge/stream.h"

/* An internet address and port; one of IPv4 is the same in both families. */
struct cpa_end {
	uint64_t high, low;
	uint16_t port;
};

/* False: @address, of @size bytes, is no internet address. */
CPA_HIDDEN bool cpa_end_of(const void *address, socklen_t size, struct cpa_end *end);

/*
 * Whether @other, to which the socket @fd at @own is connected, is an address of this machine: the same, or both of
 * loopback. Else a system call tells whether the connection goes by loopback; of IPv4, where a network may have packets
 * as long as that, a second one whether @other is one of the first CPA_INTERFACES that the interfaces have.
 */
#define CPA_INTERFACES 16u
CPA_HIDDEN bool cpa_end_is_near(int fd, const struct cpa_end *own, const struct cpa_end *other);

/* A key of numbers and a kind; never 0. */
CPA_HIDDEN uint64_t cpa_stream_key(enum cpa_stream_kind kind, uint64_t a, uint64_t b, uint64_t c);

/* The stream of @kind to the socket that is bound to @address. 0: it has none, or no space. */
CPA_HIDDEN uint32_t cpa_address_own(enum cpa_stream_kind kind, const void *address, socklen_t size);

/* The stream of @kind that begins where something is sent to @address. 0: no receiver is known. */
CPA_HIDDEN uint32_t cpa_address_find(enum cpa_stream_kind kind, const void *address,
				     socklen_t size);

#endif
