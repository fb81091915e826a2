/* SPDX-License-Identifier: MIT */
#include "preload/stream/socket.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "preload/core/track.h"
#include "preload/libc/real.h"
#include "preload/stream/address.h"
#include "preload/stream/look.h"
#include "shadow/edge/message.h"
#include "shadow/store/kernel.h"

/* Whether the 8 bytes at @p can be read: the call reads them, and then finds that it is none. */
static bool is_readable(uintptr_t p)
{
	return cpa_kernel(SYS_rt_sigprocmask, -1, p & -sizeof(uint64_t), NULL, sizeof(uint64_t)) <
		       0 &&
	       errno == EINVAL;
}

/* Copy @n bytes, no more than a page, of the program's. False: they cannot be read. */
static bool copy(void *to, const void *from, size_t n)
{
	bool inside = cpa_tls.inside, can;
	int err = errno;

	cpa_reenter();
	can = from && n && is_readable((uintptr_t)from) && is_readable((uintptr_t)from + n - 1);
	if (can)
		memcpy(to, from, n);
	cpa_tls.inside = inside;
	errno = err;
	return can;
}

/* An address of the program's, copied. */
struct address {
	struct sockaddr_storage name;
	socklen_t size;
};

static bool copy_address(struct address *to, const void *from, socklen_t size)
{
	to->size = size;
	return size <= sizeof(to->name) && copy(&to->name, from, size);
}

/*
 * Atomic: connects by name that began in this process, and that have ended. Connections of one process are
 * told apart by their order: shadow/edge/message.h. Of two at a time, it is not known. One that was
 * cancelled never ends; then none that follows is alone.
 */
static uint32_t connects_begun, connects_ended;

/* The unix socket @fd is about to be connected by name. */
static void connects_by_name(struct cpa_stream_use *use, int fd)
{
	/* SEQ_CST, both: of two connects that overlap the later one sees the other. */
	uint32_t ended = __atomic_load_n(&connects_ended, __ATOMIC_SEQ_CST);
	bool alone = __atomic_fetch_add(&connects_begun, 1, __ATOMIC_SEQ_CST) == ended;

	use->named = true;
	use->socket = use->record.stream && use->record.cell ? cpa_look_unix(fd) : 0;
	if (use->socket)
		cpa_message_connects(&use->record, cpa_look_connected(fd), use->socket, alone);
}

void cpa_socket_connects(struct cpa_stream_use *use, int fd, const void *to, socklen_t size,
			 uint64_t caller)
{
	bool inside = cpa_tls.inside;
	int err = errno;
	struct address address;
	uint32_t row;

	use->stream = NULL;
	use->socket = 0;
	use->named = false;
	if (!*cpa_alive || !copy_address(&address, to, size))
		return;
	cpa_reenter();
	row = cpa_look_listening(fd, &address.name, size);
	cpa_tls.inside = inside;
	if (row) {
		use->stream = cpa_stream(row);
		cpa_stream_write(use, NULL, SIZE_MAX, caller);
		cpa_reenter();
		if (address.name.ss_family == AF_UNIX)
			connects_by_name(use, fd);
		cpa_tls.inside = inside;
	}
	errno = err;
}

/* What @look says of @fd. */
static uint64_t name_of(uint64_t (*look)(int fd), int fd)
{
	bool inside = cpa_tls.inside;
	int err = errno;
	uint64_t name;

	cpa_reenter();
	name = look(fd);
	cpa_tls.inside = inside;
	errno = err;
	return name;
}

/* @fd is now an end of the connection of which @client is the socket that connected, as @look says. */
static void known_by_name(uint64_t (*look)(int fd, uint64_t client), int fd, uint64_t client)
{
	bool inside = cpa_tls.inside;
	int err = errno;

	cpa_reenter();
	cpa_descriptor_set(fd, look(fd, client));
	cpa_tls.inside = inside;
	errno = err;
}

bool cpa_socket_connected(struct cpa_stream_use *use, int fd, int ret, uint64_t caller)
{
	bool connects = !ret || errno == EINPROGRESS;

	/* SEQ_CST: as in connects_by_name(). */
	if (use->named)
		__atomic_fetch_add(&connects_ended, 1, __ATOMIC_SEQ_CST);
	if (connects)
		cpa_descriptor_set(fd, 0); /* it may have been looked at before */
	if (!use->stream)
		return false;
	if (use->socket && !ret)
		known_by_name(cpa_look_client, fd, use->socket);
	use->name = connects ? name_of(cpa_look_connected, fd) : 0;
	return cpa_stream_was_written(use, connects ? 0 : -1, caller);
}

void cpa_socket_accepts(struct cpa_stream_use *use, int fd, uint64_t caller)
{
	cpa_stream_reads(use, fd, caller);
	if (use->stream && use->stream->kind == CPA_STREAM_CONNECTION) {
		const struct cpa_worker *w = cpa_tls.worker;

		cpa_message_accepts(use->stream, w ? w->self.number : 0);
	}
}

/*
 * It is not known by their order which of the connections called @name @fd is: the socket of the other end, as the
 * kernel says; 0: that is not known either.
 */
static uint64_t ask_for_client(struct cpa_stream *s, int fd, uint64_t name)
{
	bool inside = cpa_tls.inside;
	int err = errno;
	uint64_t client;

	cpa_reenter();
	client = cpa_look_peer(cpa_tls.worker, fd);
	cpa_tls.inside = inside;
	errno = err;
	if (!client)
		cpa_message_mix(s, name);
	return client;
}

bool cpa_socket_accepted(struct cpa_stream_use *use, int ret, uint64_t caller)
{
	bool known;

	if (!use->stream || ret < 0)
		return false;
	use->name = name_of(cpa_look_accepted, ret);
	if (use->name && !cpa_message_is_known(use->stream, use->name))
		use->peer = ask_for_client(use->stream, ret, use->name);
	known = cpa_stream_was_read(use, 0, NULL, caller);
	if (use->socket)
		known_by_name(cpa_look_server, ret, use->socket);
	return known;
}

/* The stream of messages to an address, whose kind follows from it. */
static struct cpa_stream *messages_to(const struct address *to)
{
	bool inside = cpa_tls.inside;
	int err = errno;
	uint32_t row;

	cpa_reenter();
	row = cpa_address_find(to->name.ss_family == AF_UNIX ? CPA_STREAM_DATAGRAM : CPA_STREAM_UDP,
			       &to->name, to->size);
	cpa_tls.inside = inside;
	errno = err;
	return row ? cpa_stream(row) : NULL;
}

/*
 * Whether @fd, which writes @s, may take an address. What is connected as a stream, followed or not, takes none, or
 * does not look at it.
 */
static bool takes_address(int fd, const struct cpa_stream *s)
{
	enum cpa_stream_kind kind = s ? s->kind : cpa_descriptor_kind(cpa_descriptor_known(fd));

	return *cpa_alive && (!kind || kind == CPA_STREAM_UDP || kind == CPA_STREAM_DATAGRAM);
}

void cpa_socket_sends(struct cpa_stream_use *use, int fd, const void *to, socklen_t size,
		      uint64_t caller)
{
	struct cpa_stream *s = cpa_descriptor_out(fd);
	struct address address;

	if (to && takes_address(fd, s) && copy_address(&address, to, size))
		s = messages_to(&address);
	cpa_stream_writes_to(use, fd, s, NULL, SIZE_MAX, caller);
}

void cpa_socket_sends_message(struct cpa_stream_use *use, int fd, const struct msghdr *message,
			      uint64_t caller)
{
	const struct cpa_stream *s = cpa_descriptor_out(fd);
	struct msghdr m = { 0 };

	if (takes_address(fd, s) && !copy(&m, message, sizeof(m)))
		m.msg_name = NULL;
	cpa_socket_sends(use, fd, m.msg_name, m.msg_namelen, caller);
}

/*
 * @fd has been bound, or listens: it is what it was not before. Messages to an earlier socket of the
 * same name never arrive.
 */
static void named(int fd)
{
	int err = errno;
	uint32_t row;
	struct cpa_worker *w;

	cpa_descriptor_set(fd, 0);
	row = cpa_descriptor_reads(cpa_descriptor_known(fd));
	w = row ? cpa_enter() : NULL;
	if (w) {
		cpa_stream_clear(&w->self, cpa_stream(row));
		cpa_leave();
	}
	errno = err;
}

CPA_EXPORT int bind(int fd, __CONST_SOCKADDR_ARG address, socklen_t size)
{
	int ret = REAL(bind)(fd, address, size);

	if (!ret)
		named(fd);
	return ret;
}

CPA_EXPORT int listen(int fd, int most)
{
	int ret = REAL(listen)(fd, most);

	if (!ret && cpa_descriptor_is_kept(fd) && !cpa_descriptor_reads(cpa_descriptor_word(fd)))
		named(fd);
	return ret;
}
