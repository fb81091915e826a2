/* SPDX-License-Identifier: MIT */
/*
 * preload/stream/talk.h - whether a read from a descriptor waits for an answer
 *
 * ASKED: it was written to since it was last read from. SERVER: accept() made it, its other end asks.
 * TIMER: it was set to go off once. A copy of a descriptor has what that has, and all ends when it is closed.
 * Atomic; several descriptors may have one entry. A line each: threads write them at once.
 */
#ifndef CPA_PRELOAD_STREAM_TALK_H
#define CPA_PRELOAD_STREAM_TALK_H

#include "shadow/store/session.h"

enum talk { QUIET, ASKED, SERVER, TIMER };

struct cpa_talking {
	uint8_t talk; /* enum talk */
} __attribute__((aligned(CPA_CACHE_LINE)));

#define CPA_TALKING 1024u

extern CPA_HIDDEN struct cpa_talking cpa_talking[CPA_TALKING];

static inline uint8_t *talk_on(int fd)
{
	return &cpa_talking[(unsigned)fd % CPA_TALKING].talk;
}

static inline enum talk talk_of(int fd)
{
	/* Relaxed: two threads that use one descriptor at once have no order to keep. */
	return __atomic_load_n(talk_on(fd), __ATOMIC_RELAXED);
}

static inline void begin_talk(int fd, enum talk talk)
{
	/* Relaxed: as in talk_of(). */
	__atomic_store_n(talk_on(fd), talk, __ATOMIC_RELAXED);
}

static inline void set_talk(int fd, enum talk from, enum talk to)
{
	if (talk_of(fd) == from)
		begin_talk(fd, to);
}

/* Something was read from @fd. */
static inline void stop_talk(int fd)
{
	enum talk talk = talk_of(fd);

	if (talk == ASKED || talk == TIMER)
		begin_talk(fd, QUIET);
}

#endif
