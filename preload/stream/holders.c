/* SPDX-License-Identifier: MIT */
#include "preload/stream/holders.h"

#include <string.h>
#include <sys/socket.h>

#include "shadow/edge/holder.h"

/* Atomic: calls that began to change descriptors, and that have done so; forks under way. */
static uint32_t moves, moved, forking;

static void lose_count(void)
{
	/* Relaxed: a flag. */
	if (*cpa_alive)
		__atomic_store_n(&cpa_header()->strays, 1, __ATOMIC_RELAXED);
}

void cpa_holders_move(void)
{
	/* SEQ_CST, as all here: of a fork and a change at the same time, one sees the other. */
	__atomic_fetch_add(&moves, 1, __ATOMIC_SEQ_CST);
	if (unlikely(__atomic_load_n(&forking, __ATOMIC_SEQ_CST)))
		lose_count();
}

void cpa_holders_moved(void)
{
	/* SEQ_CST: as above. */
	__atomic_fetch_add(&moved, 1, __ATOMIC_SEQ_CST);
}

/* The stream that @fd is an end for writing of. NULL: it is none that is known. */
static struct cpa_stream *written_by(int fd)
{
	uint32_t row = cpa_descriptor_is_kept(fd) ? cpa_descriptor_writes(cpa_descriptor_word(fd)) :
						    0;

	return row && *cpa_alive ? cpa_stream(row) : NULL;
}

static void lose_if_moving(void)
{
	/* SEQ_CST, all: as in cpa_holders_move(). */
	if (__atomic_load_n(&moved, __ATOMIC_SEQ_CST) != __atomic_load_n(&moves, __ATOMIC_SEQ_CST))
		lose_count();
}

void cpa_holders_ending(void)
{
	lose_if_moving();
}

void cpa_holders_forking(bool joins)
{
	/* SEQ_CST, all: as in cpa_holders_move(). */
	__atomic_fetch_add(&forking, 1, __ATOMIC_SEQ_CST);
	lose_if_moving();
	if (!joins)
		cpa_holders_astray();
	for (uint32_t fd = 0; joins && fd <= cpa_descriptor_highest(); fd++) {
		struct cpa_stream *s = written_by((int)fd);

		if (s)
			cpa_holder_more(s);
	}
}

void cpa_holders_forked(bool is_child)
{
	if (is_child) /* its only thread is in no such call */
		moves = moved = forking = 0;
	else
		/* SEQ_CST: as above. */
		__atomic_fetch_sub(&forking, 1, __ATOMIC_SEQ_CST);
}

uint32_t cpa_holders_moves(void)
{
	/* SEQ_CST: as above. */
	return __atomic_load_n(&moves, __ATOMIC_SEQ_CST);
}

void cpa_holders_not_forked(uint32_t since)
{
	/* What the child would have had is what there is, if nothing has changed. */
	if (cpa_holders_moves() != since)
		lose_count();
	for (uint32_t fd = 0; fd <= cpa_descriptor_highest(); fd++) {
		struct cpa_stream *s = written_by((int)fd);

		if (s)
			cpa_holder_less(s);
	}
}

static void lose(int fd)
{
	struct cpa_stream *s = written_by(fd);

	if (s)
		cpa_holder_astray(s);
}

void cpa_holders_astray(void)
{
	for (uint32_t fd = 0; fd <= cpa_descriptor_highest(); fd++)
		lose((int)fd);
}

void cpa_holders_passed(const struct msghdr *message)
{
	/* CMSG_NXTHDR() takes a message that may be changed. */
	struct msghdr m = *message;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		const char *from = (const char *)CMSG_DATA(c);
		size_t rest = (size_t)((const char *)m.msg_control + m.msg_controllen - from);
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		/* Sockets of some families take any length, and ignore it. */
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
		    c->cmsg_len < CMSG_LEN(0) || n > rest / sizeof(int))
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, from + i * sizeof(fd), sizeof(fd));
			lose(fd);
		}
	}
}
