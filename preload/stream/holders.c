/* SPDX-License-Identifier: MIT */
#include "preload/stream/holders.h"

#include <string.h>
#include <sys/socket.h>

#include "shadow/edge/holder.h"

/* Atomic: calls that began to change descriptors, and that have done so. */
static uint32_t moves, moved;

/* Atomic: walks through all descriptors, for a fork, a program to come or the end, that are under way. */
static uint32_t walks;

void cpa_holders_lost(void)
{
	/* Relaxed: a flag. */
	if (*cpa_alive)
		__atomic_store_n(&cpa_header()->strays, 1, __ATOMIC_RELAXED);
}

void cpa_holders_move(void)
{
	/* SEQ_CST, as all here: of a walk and a change at the same time, one sees the other. */
	__atomic_fetch_add(&moves, 1, __ATOMIC_SEQ_CST);
	if (unlikely(__atomic_load_n(&walks, __ATOMIC_SEQ_CST)))
		cpa_holders_lost();
}

void cpa_holders_moved(void)
{
	/* SEQ_CST: pairs with cpa_holders_move() and begin_walk(). */
	__atomic_fetch_add(&moved, 1, __ATOMIC_SEQ_CST);
}

/* The stream that @fd is an end for writing of. NULL: it is none that is known. */
static struct cpa_stream *written_by(int fd)
{
	uint32_t row = cpa_descriptor_is_kept(fd) ? cpa_descriptor_writes(cpa_descriptor_word(fd)) :
						    0;

	return row && *cpa_alive ? cpa_stream(row) : NULL;
}

/* Return the number of walks that were under way. */
static uint32_t begin_walk(void)
{
	/* SEQ_CST, all: as in cpa_holders_move(). */
	uint32_t others = __atomic_fetch_add(&walks, 1, __ATOMIC_SEQ_CST);

	if (__atomic_load_n(&moved, __ATOMIC_SEQ_CST) != __atomic_load_n(&moves, __ATOMIC_SEQ_CST))
		cpa_holders_lost();
	return others;
}

void cpa_holders_ending(void)
{
	if (begin_walk())
		cpa_holders_lost();
}

void cpa_holders_forking(bool joins)
{
	begin_walk();
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
		moves = moved = walks = 0;
	else
		cpa_holders_stay();
}

void cpa_holders_stay(void)
{
	/* SEQ_CST: pairs with cpa_holders_move() and begin_walk(). */
	__atomic_fetch_sub(&walks, 1, __ATOMIC_SEQ_CST);
}

uint32_t cpa_holders_moves(void)
{
	/* SEQ_CST: pairs with cpa_holders_move() and begin_walk(). */
	return __atomic_load_n(&moves, __ATOMIC_SEQ_CST);
}

void cpa_holders_not_forked(uint32_t since)
{
	/* What the child would have had is what there is, if nothing has changed. */
	if (cpa_holders_moves() != since)
		cpa_holders_lost();
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

static bool is_rights(const struct cmsghdr *c)
{
	return c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS;
}

void cpa_holders_passed(const struct msghdr *message)
{
	/* CMSG_NXTHDR() takes a message that may be changed. */
	struct msghdr m = *message;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		const char *from = (const char *)CMSG_DATA(c);
		size_t rest = (size_t)((const char *)m.msg_control + m.msg_controllen - from);
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		/* Sockets of some families, which pass none, take any length: CMSG_NXTHDR() would wrap. */
		if (c->cmsg_len < CMSG_LEN(0) || n > rest / sizeof(int))
			return;
		for (size_t i = 0; is_rights(c) && i < n; i++) {
			int fd;

			memcpy(&fd, from + i * sizeof(fd), sizeof(fd));
			lose(fd);
		}
	}
}
