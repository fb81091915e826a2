/* SPDX-License-Identifier: MIT */
/*
 * preload/core/pending.c - the sampler's signal is not among those that a program finds pending
 *
 * In a thread that blocks CPA_SIGNAL the timer's signal stays pending. sigwait() and its like skip it
 * (preload/sync/sigwait.c); here sigpending() does not show it, and a signalfd, which would be readable
 * for ever, does not know CPA_SIGNAL. A program that uses CPA_SIGNAL itself sees what there is.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#include "preload/core/signal.h"
#include "preload/libc/real.h"

/* Async-signal-safe, as the original is. */
CPA_EXPORT int sigpending(sigset_t *set)
{
	int ret = REAL(sigpending)(set);

	/* The kernel, and so the original, writes no more than its own set. */
	if (unlikely(!ret && sigismember(set, CPA_SIGNAL) && cpa_signal_is_only_ours()))
		sigdelset(set, CPA_SIGNAL);
	return ret;
}

/* The kernel checks @mask, of which it reads _NSIG bits: then it may be read here, too. */
CPA_EXPORT int signalfd(int fd, const sigset_t *mask, int flags)
{
	int made = REAL(signalfd)(fd, mask, flags), err = errno;
	sigset_t others;

	if (made < 0 || !sigismember(mask, CPA_SIGNAL) || !cpa_signal_is_only_ours())
		return made;
	sigemptyset(&others);
	memcpy(&others, mask, _NSIG / 8);
	sigdelset(&others, CPA_SIGNAL);
	REAL(signalfd)(made, &others, flags);
	errno = err;
	return made;
}
