/* SPDX-License-Identifier: MIT */
/*
 * preload/stream/eventfd.h - which stream an eventfd is, in whatever process
 *
 * All eventfds have one inode, but each that is open has a number, which /proc/self/fdinfo shows (Linux 5.2). Who
 * makes one notes in the session which stream the number stands for: a row of kind eventfd, whose key is of the
 * number. Who gets it by exec, or in a message, finds that. The kernel gives the number again once all descriptors
 * are closed, and who made the next one notes that before anybody else can have it.
 *
 * I1  A number leads to no stream, or to that of the eventfd: who cannot read the number of a new one notes that no
 *     number of the session is certain any more. One that was made outside the session, or by a system call,
 *     is taken for an earlier one of the session which had its number.
 */
#ifndef CPA_PRELOAD_STREAM_EVENTFD_H
#define CPA_PRELOAD_STREAM_EVENTFD_H

#include "preload/stream/descriptor.h"

/* The word of the new eventfd @fd, whose counter is @value, as in preload/stream/look.h. errno is changed, by all. */
CPA_HIDDEN uint64_t cpa_eventfd_made(int fd, uint64_t value);

/* The row of the stream of the eventfd @fd, of which this process knows nothing. 0: it is not known. */
CPA_HIDDEN uint32_t cpa_eventfd_find(int fd);

/* "@folder@fd", in @path. @folder: "/proc/thread-self/.../". */
#define CPA_FD_PATH 40u
CPA_HIDDEN const char *cpa_fd_path(char path[CPA_FD_PATH], const char *folder, int fd);

#endif
