/* SPDX-License-Identifier: MIT */
/*
 * preload/stream/terminal.h - pseudo terminals: which pair a descriptor is an end of, and waits for it
 *
 * Both ends, in whatever process, come to the same two streams by the number of the pair and the file
 * system that its slave lies in: the kernel tells the number of a master, and of a slave where it lies. A master
 * is taken to lie in /dev/pts, if it was opened as /dev/ptmx or /dev/pts/ptmx. Only
 * pairs whose master was seen in the session are followed: a program that writes to the terminal
 * of its user has no cost.
 */
#ifndef CPA_PRELOAD_STREAM_TERMINAL_H
#define CPA_PRELOAD_STREAM_TERMINAL_H

#include <sys/stat.h>

#include "preload/clock/clock.h"
#include "preload/stream/descriptor.h"

/* Whether a device is the one that makes a master, of whatever pair; or is a slave. */
CPA_HIDDEN bool cpa_terminal_is_master(const struct stat *st);
CPA_HIDDEN bool cpa_terminal_is_slave(const struct stat *st);

/* The word of the master @fd, and of a slave, with @st. 0: it is not followed. errno is changed. */
CPA_HIDDEN uint64_t cpa_terminal_master(int fd, const struct stat *st);
CPA_HIDDEN uint64_t cpa_terminal_slave(const struct stat *st);

/* The slave @fd is known to have its master in the session, which may not have said so yet. errno is changed. */
CPA_HIDDEN void cpa_terminal_begin(int fd);

/* Whether this process has found a terminal that is followed. Atomic; never false again. */
extern CPA_HIDDEN bool cpa_terminal_any;

/* The tick before a call that may wait for a terminal; else 0. */
static inline uint64_t cpa_terminal_call(void)
{
	/* Relaxed: who waits for a terminal that another thread finds meanwhile asks what it knows. */
	return unlikely(__atomic_load_n(&cpa_terminal_any, __ATOMIC_RELAXED)) && *cpa_alive ?
		       cpa_clock_now() :
		       0;
}

/*
 * The thread was blocked until the terminal @fd was ready, in a call that began after tick @since (0: not
 * known), with an event of @kind. @begun: as in cpa_event_waited(). Return whether it may be known for
 * whom: then there was an event. If it turned out that it is not, the time is external. Inside our code,
 * before cpa_done().
 */
CPA_HIDDEN bool cpa_terminal_waited(struct cpa_worker *w, int fd, uint64_t since, uint64_t begun,
				    enum cpa_event_kind kind, uint64_t caller);

/* The tick of the latest write to the terminal @fd, if it was after @since (0: the last event); else 0. */
CPA_HIDDEN uint64_t cpa_terminal_ready(struct cpa_worker *w, int fd, uint64_t since);

#endif
