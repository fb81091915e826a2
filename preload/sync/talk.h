/* SPDX-License-Identifier: MIT */
/*
 * preload/sync/talk.h - whether a read from a descriptor waits for an answer
 *
 * ASKED: it was written to since it was last read from. SERVER: accept() made it, its other end asks.
 * TIMER: it was set to go off once. Atomic; several descriptors may have one entry. A line each: threads
 * write them at once.
 */
#ifndef CPA_PRELOAD_SYNC_TALK_H
#define CPA_PRELOAD_SYNC_TALK_H

#include "shadow/store/session.h"

enum talk { QUIET, ASKED, SERVER, TIMER };

struct cpa_talking {
	uint8_t talk; /* enum talk */
} __attribute__((aligned(CPA_CACHE_LINE)));

extern CPA_HIDDEN struct cpa_talking cpa_talking[1024];

static inline uint8_t *talk_on(int fd)
{
	return &cpa_talking[(unsigned)fd % (sizeof(cpa_talking) / sizeof(*cpa_talking))].talk;
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
