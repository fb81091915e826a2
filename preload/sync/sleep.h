/* SPDX-License-Identifier: MIT */
/* preload/sync/sleep.h - how long a sleep that went to its end took at least */
#ifndef CPA_PRELOAD_SYNC_SLEEP_H
#define CPA_PRELOAD_SYNC_SLEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Whether the time asked of clock_nanosleep() is a length, of a clock that goes on as cpa's does. */
static inline bool cpa_sleep_is_told(clockid_t clock, int flags)
{
	return !flags && (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC ||
			  clock == CLOCK_BOOTTIME || clock == CLOCK_TAI);
}

/*
 * The least that a sleep of that length takes by cpa's clock, ns. The kernel's clock may be a thousandth faster, as it
 * is set by the time of the network.
 */
static inline uint64_t cpa_sleep_of(time_t seconds, long long ns)
{
	uint64_t asked = (uint64_t)seconds * 1000000000 + (uint64_t)ns;

	return asked - asked / 1000;
}

#endif
