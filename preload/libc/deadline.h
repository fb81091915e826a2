/* SPDX-License-Identifier: MIT */
/*
 * preload/libc/deadline.h - deadlines that glibc refuses even when it need not wait
 */
#ifndef CPA_PRELOAD_LIBC_DEADLINE_H
#define CPA_PRELOAD_LIBC_DEADLINE_H

#include <stdbool.h>
#include <time.h>

/* Whether glibc's clock variants refuse @clock with EINVAL. */
static inline bool cpa_deadline_clock_refused(clockid_t clock)
{
	return clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC;
}

/*
 * Whether a timed call on a semaphore or read-write lock, with deadline @until on @clock, fails with
 * EINVAL.
 */
static inline bool cpa_deadline_refused(clockid_t clock, const struct timespec *until)
{
	return cpa_deadline_clock_refused(clock) || until->tv_nsec < 0 ||
	       until->tv_nsec >= 1000000000;
}

#endif
