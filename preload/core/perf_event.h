/* SPDX-License-Identifier: MIT */
/*
 * preload/core/perf_event.h - perf events that sample a thread's CPU time, and what they cost
 */
#ifndef CPA_PRELOAD_CORE_PERF_EVENT_H
#define CPA_PRELOAD_CORE_PERF_EVENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "shadow/store/session.h"

#define CPA_PERF_PAGE 4096u		   /* bytes of the ring's control page, which comes first */
#define CPA_PERF_RING (8u * CPA_PERF_PAGE) /* bytes of its records */

/* Once, at start: B of preload/core/untimed.h until an interrupt is measured. */
CPA_HIDDEN void cpa_perf_init(void);

/*
 * Open an event that samples thread @tid of this process, 0: the caller, @rate times in a second of
 * its CPU time. *@blind: set to true if it does not sample the kernel. Return the descriptor, or -1
 * and errno.
 */
CPA_HIDDEN int cpa_perf_open(pid_t tid, unsigned rate, bool *blind);

/* Map the ring of the event @fd: CPA_PERF_PAGE + CPA_PERF_RING bytes. NULL: no event, or no memory. */
CPA_HIDDEN void *cpa_perf_map_ring(int fd);

/*
 * Measure the cost of a sample's interrupt, once in a session, into the header's machine.interrupt_ns
 * and brief_ns. It takes 0.1 ms of samples, about as long as an event takes to open.
 */
CPA_HIDDEN void cpa_perf_measure_interrupt(void);

/*
 * At most @rate samples a second, so few that their interrupts take 5 % of a processor. If that is
 * less than @rate it is noted in the header's machine.most_hz.
 */
CPA_HIDDEN unsigned cpa_perf_affordable(unsigned rate);

#endif
