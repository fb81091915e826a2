/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/message.h - connections and messages: a read depends on one write, which it knows by name
 *
 * Such a stream (cpa_stream_is_by_name()) may have writers that are not seen, several sockets may
 * read it, and messages of UDP may be lost: to count would be wrong from then on. So the write and the
 * read each say what they know of it, the name, a number that is not 0: of a connection something that no
 * other has at that time, of a message its length. A read takes the earliest record with its name. If there
 * is none, it takes the latest of those whose writers have not come back yet; if there are several of these,
 * the read is counted as uncertain. If there are none, the writer is not seen.
 *
 * Records, places and pins are those of shadow/edge/stream.h; the token's key is the name, its payload
 * CPA_STREAM_OPEN or 0. A connection of unix sockets has its name from the start, and source is the inode of
 * the socket that connects, with CPA_CONNECT_ bits. The calls may overlap as those of stream.h do.
 * Progress: lock-free, as there.
 */
#ifndef CPA_SHADOW_EDGE_MESSAGE_H
#define CPA_SHADOW_EDGE_MESSAGE_H

#include "shadow/edge/stream.h"

/*
 * The write that began with cpa_stream_write_begin() has returned. It is called @name, and moved
 * @bytes; name 0: it failed.
 */
CPA_HIDDEN void cpa_message_write_end(struct cpa_self *self, struct cpa_stream_record *record,
				      uint64_t name, uint64_t bytes);

/*
 * The write that has begun is the connection @name of @socket, the inode of a unix socket. To be called before
 * the original call, so that who accepts the connection knows. @alone: no other connection of that name was under
 * way when it began, so those before it were made before.
 */
CPA_HIDDEN void cpa_message_connects(struct cpa_stream_record *record, uint64_t name,
				     uint64_t socket, bool alone);

/*
 * Connections of one process have one name. Which of those that are there was accepted is known if there is only
 * one; or if one thread alone accepts, as each says by cpa_message_accepts() before it waits for one, and the
 * first had been made when the second began. Otherwise the kernel must be asked for its socket; if that cannot be,
 * they are mixed: the sockets of those that are there are no longer known.
 */
CPA_HIDDEN void cpa_message_accepts(struct cpa_stream *s, uint32_t thread);
CPA_HIDDEN bool cpa_message_is_known(const struct cpa_stream *s, uint64_t name);
CPA_HIDDEN void cpa_message_mix(struct cpa_stream *s, uint64_t name);

/* As cpa_message_read(), of a connection that was accepted; @socket, if not 0: that of who connected. */
CPA_HIDDEN bool cpa_message_accept(struct cpa_self *self, struct cpa_stream *s, uint64_t name,
				   uint64_t socket, struct cpa_stream_found *found);

/* The socket of the connection that was found; 0: not known. */
CPA_HIDDEN uint64_t cpa_message_socket(const struct cpa_stream_found *found);

/*
 * A read took what is called @name: find what it depends on. False: as cpa_stream_read(). Joined as
 * the write of a stream.
 */
CPA_HIDDEN bool cpa_message_read(struct cpa_self *self, struct cpa_stream *s, uint64_t name,
				 uint64_t bytes, struct cpa_stream_found *found);

/* See cpa_stream_next(). */
CPA_HIDDEN bool cpa_message_next(struct cpa_self *self, struct cpa_stream *s,
				 struct cpa_stream_found *found);

/*
 * The thread waited from clock @since for what was found, so the stream was empty then. If the write
 * was before, and there is a later one, the message was lost: the later one is what was found.
 * @took: as in cpa_stream_join().
 */
CPA_HIDDEN void cpa_message_renew(struct cpa_self *self, struct cpa_stream_found *found, bool took,
				  uint64_t since);

#endif
