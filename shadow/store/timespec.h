/* SPDX-License-Identifier: MIT */
/*
 * shadow/store/timespec.h - struct timespec in nanoseconds
 *
 * Nothing here locks or allocates; all is safe in a signal handler.
 */
#ifndef CPA_SHADOW_STORE_TIMESPEC_H
#define CPA_SHADOW_STORE_TIMESPEC_H

#include <stdint.h>
#include <time.h>

#define CPA_SECOND_NS UINT64_C(1000000000)

/* Nanoseconds. A time before the clock's zero gives a number of no use. */
static inline uint64_t cpa_timespec_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * CPA_SECOND_NS + (uint64_t)t->tv_nsec;
}

static inline struct timespec cpa_timespec_of(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / CPA_SECOND_NS),
				  .tv_nsec = (long)(ns % CPA_SECOND_NS) };
}

/* Nanoseconds of @clock now; 0 if the kernel has no such clock, and errno says why. */
static inline uint64_t cpa_timespec_now_ns(clockid_t clock)
{
	struct timespec t = { 0 };

	clock_gettime(clock, &t);
	return cpa_timespec_ns(&t);
}

#endif
