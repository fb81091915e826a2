/* SPDX-License-Identifier: MIT */
/* preload/core/asleep.h - how long a sleep that went to its end took at least */
#ifndef CPA_PRELOAD_CORE_ASLEEP_H
#define CPA_PRELOAD_CORE_ASLEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "preload/clock/clock.h"
#include "preload/unwind/stack.h"

#define CPA_ASLEEP_DOUBT 1000000 /* ns on the run queue from which on the kernel is doubted */

/*
 * The least that a sleep of that length takes by cpa's clock, ns. The kernel's clock may be a thousandth faster, as it
 * is set by the time of the network.
 */
static inline uint64_t cpa_asleep_of(time_t seconds, long ns)
{
	uint64_t asked = (uint64_t)seconds * 1000000000 + (uint64_t)ns;

	return asked - asked / 1000;
}

/*
 * The same of what a call was asked for at @asked; NULL: not known. The program may have given that memory back, as the
 * kernel read it when the sleep began. Changes errno.
 */
static inline uint64_t cpa_asleep(const struct timespec *asked)
{
	struct timespec copy = { 0 };
	bool known;

	if (!asked || !cpa_kernel_begin())
		return 0;
	known = cpa_stack_read(&copy, (uint64_t)asked, sizeof(copy));
	cpa_kernel_end();
	/* Another thread may have put anything there meanwhile. */
	return known && copy.tv_sec >= 0 && copy.tv_nsec >= 0 && copy.tv_nsec < 1000000000 ?
		       cpa_asleep_of(copy.tv_sec, copy.tv_nsec) :
		       0;
}

#endif
