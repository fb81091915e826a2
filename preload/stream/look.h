/* SPDX-License-Identifier: MIT */
/*
 * preload/stream/look.h - find out what a descriptor is, by system calls
 *
 * Both ends of a stream, in whatever process, come to the same key: that of a pipe is its device and
 * inode; that of one direction of a unix socket the inode of the socket that receives; that of one
 * direction of a TCP connection both addresses, the sender's first, and how many connections between
 * these had both ends closed before. Where unix sockets were connected by name, both directions have the
 * inode of the one that connected, which who accepts knows from the session: shadow/edge/message.h. Of
 * others the kernel is asked for the other end. Eventfds: eventfd.h. A socket that listens or receives datagrams: address.h. Of other
 * sockets, and of TCP connections to other machines, nothing is followed.
 */
#ifndef CPA_PRELOAD_STREAM_LOOK_H
#define CPA_PRELOAD_STREAM_LOOK_H

#include <sys/socket.h>

#include "preload/stream/descriptor.h"

/*
 * The word of @fd, of which nothing is known, as a new word of preload/stream/descriptor.h. 0: it is
 * no descriptor, or no system call may be made. @w: as in cpa_track_private_call(). errno is changed.
 */
CPA_HIDDEN uint64_t cpa_look(struct cpa_worker *w, int fd);

/* The words of the two ends of a new pipe, as cpa_look(). */
CPA_HIDDEN void cpa_look_pipe(const int fds[2], uint64_t words[2]);

/* The words of the two ends of a new pair of unix sockets of @type, as cpa_look(). */
CPA_HIDDEN void cpa_look_pair(const int fds[2], int type, uint64_t words[2]);

/* The stream of connections that @fd becomes part of where it connects to an address. 0: none. */
CPA_HIDDEN uint32_t cpa_look_listening(int fd, const void *to, socklen_t size);

/*
 * What both ends call a connection, of which @fd is the end that has been connected, or was accepted:
 * the process, or the address, of who connected. 0: that is not known.
 */
CPA_HIDDEN uint64_t cpa_look_connected(int fd);
CPA_HIDDEN uint64_t cpa_look_accepted(int fd);

/* The inode of the unix socket @fd, for cpa_message_connects(); 0: it is none. */
CPA_HIDDEN uint64_t cpa_look_unix(int fd);

/* The inode of the unix socket that @fd is connected to, as the kernel says; 0: not known. @w: as in cpa_look(). */
CPA_HIDDEN uint64_t cpa_look_peer(struct cpa_worker *w, int fd);
/* The word of an end of a connection, in a process that knows that @client is the inode of the socket that connected. */
CPA_HIDDEN uint64_t cpa_look_client(int fd, uint64_t client);
CPA_HIDDEN uint64_t cpa_look_server(int fd, uint64_t client);

#endif
