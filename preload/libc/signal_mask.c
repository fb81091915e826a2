/* SPDX-License-Identifier: MIT */
#include "preload/libc/signal_mask.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "shadow/store/kernel.h"

#define CANCELS (__SIGRTMIN) /* the C library's signal of pthread_cancel() */

void cpa_signal_mask(sigset_t *mask)
{
	static const int raised[] = { SIGSYS, SIGBUS, SIGFPE, SIGILL, SIGTRAP };

	sigfillset(mask);
	for (unsigned i = 0; i < sizeof(raised) / sizeof(raised[0]); i++)
		sigdelset(mask, raised[i]);
	/* sigaddset() refuses it, as sigfillset() leaves it out. */
	((unsigned long *)mask)[0] |= 1ul << (CANCELS - 1);
}

bool cpa_signal_is_held(const sigset_t *mask)
{
	return ((const unsigned long *)mask)[0] >> (CANCELS - 1) & 1;
}

bool cpa_signal_block(sigset_t *before)
{
	sigset_t mask;

	if (unlikely(!cpa_kernel_begin()))
		return false;
	cpa_signal_mask(&mask);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, before, _NSIG / 8);
	return true;
}

sigset_t cpa_signal_hold(void)
{
	sigset_t before;

	if (unlikely(!cpa_signal_block(&before))) {
		sigemptyset(&before);
		sigaddset(&before, SIGKILL); /* marker in the mask: there is nothing to restore */
	}
	return before;
}

void cpa_signal_let(const sigset_t *before)
{
	if (unlikely(sigismember(before, SIGKILL)))
		return;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, before, NULL, _NSIG / 8);
	cpa_kernel_end();
}
