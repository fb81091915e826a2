/* SPDX-License-Identifier: MIT */
/*
 * preload/libc/private_fds.h - open files without taking a descriptor of the program's
 *
 * A program may put what it likes on a number that it knows to be free, or close all that it does
 * not know. A file of ours that is open for a moment would be in its way, and its own be closed by
 * us. So such a moment is that of a thread with a table of descriptors of its own, a copy, which
 * goes with it.
 */
#ifndef CPA_PRELOAD_LIBC_PRIVATE_FDS_H
#define CPA_PRELOAD_LIBC_PRIVATE_FDS_H

#include <stdbool.h>

#include "shadow/store/session.h"

/*
 * Call @function(@argument) in a thread of the process that has all of its memory, none of the
 * descriptors that it opens, and no signals; the caller stands still. It uses less than 1 KiB of
 * stack, and no function that knows of threads. False: that cannot be, for errno. Some 40 us, and a
 * fork's care for the descriptors that there are.
 */
CPA_HIDDEN bool cpa_private_fds_call(void (*function)(void *), void *argument);

#endif
