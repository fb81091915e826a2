/* SPDX-License-Identifier: MIT */
/*
 * preload/clock/delay.h - how long a thread was ready to run without a processor
 *
 * The kernel shows that in the thread's schedstat file, which stays open as long as the thread runs.
 * The program may close the descriptor, and another file may get the number.
 */
#ifndef CPA_PRELOAD_CLOCK_DELAY_H
#define CPA_PRELOAD_CLOCK_DELAY_H

#include "preload/clock/clock.h"

/*
 * Read the calling thread's run-queue delay since its start, in ns. False: not available. The file is
 * opened at the first call, and anew after the program has closed it. What is at its number then is not read: it
 * may be a file of the program, or that of another thread's delay. May change errno.
 */
CPA_HIDDEN bool cpa_delay_read(struct cpa_clock *c, uint64_t *delay);

/* cpa_delay_read() before there is a session: the file is closed again. May change errno. */
CPA_HIDDEN bool cpa_delay_early(uint64_t *delay);

/* Close the file of a clock whose `schedstat` is a descriptor. May change errno. */
CPA_HIDDEN void cpa_delay_close(struct cpa_clock *c);

#endif
