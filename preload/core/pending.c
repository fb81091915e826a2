/* SPDX-License-Identifier: MIT */
/*
 * preload/core/pending.c - the sampler's signal is not among those that a program finds pending
 *
 * In a thread that blocks CPA_SIGNAL the timer's signal stays pending. sigwait() and its like skip it
 * (preload/sync/sigwait.c); here sigpending() does not show it, and a signalfd, which would be readable
 * for ever, does not know CPA_SIGNAL at all.
 */
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>

#include "preload/core/guard.h"
#include "preload/core/sampler.h"
#include "preload/core/signal.h"
#include "preload/libc/real.h"

/* Async-signal-safe, as the original is. One that the program has sent stays pending. */
CPA_EXPORT int sigpending(sigset_t *set)
{
	int ret = REAL(sigpending)(set);
	struct itimerspec timer;

	if (likely(ret || !sigismember(set, CPA_SIGNAL)) || !cpa_sampler_hush(&timer))
		return ret;
	ret = REAL(sigpending)(set);
	cpa_sampler_unhush(&timer);
	return ret;
}

CPA_EXPORT int signalfd(int fd, const sigset_t *mask, int flags)
{
	sigset_t copy;

	if (!*cpa_alive || !sigismember(mask, CPA_SIGNAL))
		return REAL(signalfd)(fd, mask, flags);
	copy = *mask;
	sigdelset(&copy, CPA_SIGNAL);
	return REAL(signalfd)(fd, &copy, flags);
}
