/* SPDX-License-Identifier: MIT */
/* preload/stream/talk.c - timers that go off once: a read that waits for one is a sleep */
#include "preload/stream/talk.h"

#include <sys/timerfd.h>

#include "preload/libc/real.h"

struct cpa_talking cpa_talking[CPA_TALKING];

CPA_EXPORT int timerfd_settime(int fd, int flags, const struct itimerspec *to,
			       struct itimerspec *was)
{
	int ret = REAL(timerfd_settime)(fd, flags, to, was);

	/* The kernel has just read @to. */
	if (!ret && !to->it_interval.tv_sec && !to->it_interval.tv_nsec)
		begin_talk(fd, TIMER);
	return ret;
}
