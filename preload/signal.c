/* SPDX-License-Identifier: MIT */
#include "preload/signal.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/real.h"

const char cpa_signal_mark;

static void (*ours)(void *context);

/*
 * What the program set for the signal. Written by its sigaction() calls, which it must order
 * itself; read by the handler. One at a time is current, so a reader never sees half of one.
 */
static struct sigaction theirs[2];
static uint32_t current;

static const struct sigaction *disposition(void)
{
	/* ACQUIRE pairs with the RELEASE in set_disposition(). */
	return &theirs[__atomic_load_n(&current, __ATOMIC_ACQUIRE) & 1];
}

static void set_disposition(const struct sigaction *action)
{
	uint32_t next = __atomic_load_n(&current, __ATOMIC_RELAXED) + 1;

	theirs[next & 1] = *action;
	/* RELEASE: the action is complete. Pairs with disposition(). */
	__atomic_store_n(&current, next, __ATOMIC_RELEASE);
}

/* The default action of the signal: it ends the process. */
static void die(void)
{
	struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t set;

	REAL(sigaction)(CPA_SIGNAL, &action, NULL);
	raise(CPA_SIGNAL);
	sigemptyset(&set);
	sigaddset(&set, CPA_SIGNAL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void forward(int sig, siginfo_t *info, void *context)
{
	struct sigaction action = *disposition();

	if (action.sa_flags & SA_RESETHAND)
		set_disposition(&(struct sigaction){ .sa_handler = SIG_DFL });
	if (action.sa_flags & SA_SIGINFO)
		action.sa_sigaction(sig, info, context);
	else if (action.sa_handler == SIG_DFL)
		die();
	else if (action.sa_handler != SIG_IGN)
		action.sa_handler(sig);
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	int err = errno;

	if (info->si_code == SI_TIMER && info->si_value.sival_ptr == &cpa_signal_mark)
		ours(context);
	else
		forward(sig, info, context);
	errno = err;
}

bool cpa_signal_init(void (*handler)(void *context))
{
	struct sigaction action = { .sa_sigaction = on_signal,
				    .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
	struct sigaction before;

	sigfillset(&action.sa_mask);
	if (REAL(sigaction)(CPA_SIGNAL, NULL, &before))
		return false;
	set_disposition(&before);
	ours = handler;
	return !REAL(sigaction)(CPA_SIGNAL, &action, NULL);
}

CPA_EXPORT int sigaction(int sig, const struct sigaction *restrict action,
			 struct sigaction *restrict old)
{
	struct sigaction before;

	if (likely(sig != CPA_SIGNAL || !ours))
		return REAL(sigaction)(sig, action, old);
	before = *disposition();
	if (action)
		set_disposition(action);
	if (old)
		*old = before;
	return 0;
}

CPA_EXPORT sighandler_t signal(int sig, sighandler_t handler)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART }, before;

	if (likely(sig != CPA_SIGNAL || !ours))
		return REAL(signal)(sig, handler);
	sigaddset(&action.sa_mask, sig);
	sigaction(sig, &action, &before);
	return before.sa_handler;
}
