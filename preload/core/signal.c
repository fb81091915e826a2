/* SPDX-License-Identifier: MIT */
#include "preload/core/signal.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/code/function.h"
#include "preload/libc/real.h"
#include "preload/unwind/stack.h"
#include "shadow/arch/arch.h"
#include "shadow/store/kernel.h"

const char cpa_signal_mark;

static void (*ours)(void *context, unsigned times);
static bool sent; /* atomic: the program has sent CPA_SIGNAL */
static volatile bool finished;

/*
 * The program's action for the sampler's signal. Written by its sigaction() calls, which it must
 * order itself; read by the handler. `current` selects one of two, so a reader never sees a
 * half-written one.
 */
static struct sigaction theirs[2];
static uint32_t current;

static const struct sigaction *disposition(void)
{
	/* ACQUIRE pairs with the RELEASE in set_disposition(). */
	return &theirs[__atomic_load_n(&current, __ATOMIC_ACQUIRE) & 1];
}

/* Where handlers return to: code of libc. Written once, at start. 0: not known. */
static uint64_t handlers_return;

static void set_disposition(const struct sigaction *action)
{
	uint32_t next = __atomic_load_n(&current, __ATOMIC_RELAXED) + 1;

	theirs[next & 1] = *action;
	/* RELEASE: the action is complete. Pairs with disposition(). */
	__atomic_store_n(&current, next, __ATOMIC_RELEASE);
}

/*
 * Atomic bit set: signals whose handlers run on an alternate stack, for which we added the
 * sampler's signal to the mask. sigaction() does not show it to the program.
 */
static uint64_t masked;

/*
 * Atomic: the alternate stack that a thread set last, and whether threads share one. Varnish shares
 * one among all threads, for panics only: two handlers of ours there would overwrite each other.
 * The alternate stack is needed for goroutines, whose own stacks are small; Go sets its alternate
 * stacks by system calls.
 */
static void *last_stack;
static bool shared_stack;

/* Take the default action of the signal: it ends the process. */
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
	struct sigaction action = *disposition(), reset = action;

	if (action.sa_handler == SIG_IGN)
		return;
	if (action.sa_handler == SIG_DFL) {
		die();
		return;
	}
	if (action.sa_flags & SA_RESETHAND) { /* as in the kernel, only the handler is reset */
		reset.sa_handler = SIG_DFL;
		set_disposition(&reset);
	}
	if (action.sa_flags & SA_SIGINFO)
		action.sa_sigaction(sig, info, context);
	else
		action.sa_handler(sig);
}

bool cpa_signal_is_ours(const siginfo_t *info)
{
	return info->si_code == SI_TIMER && info->si_value.sival_ptr == &cpa_signal_mark;
}

bool cpa_signal_is_blocked(const sigset_t *mask)
{
	sigset_t present;

	if (!mask && (pthread_sigmask(SIG_BLOCK, NULL, &present) || cpa_signal_is_held(&present)))
		return false;
	return sigismember(mask ? mask : &present, CPA_SIGNAL);
}

void cpa_signal_take_back(void)
{
	const struct timespec now = { 0, 0 };
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, CPA_SIGNAL);
	if (cpa_kernel(SYS_rt_sigtimedwait, &set, &info, &now, _NSIG / 8) != CPA_SIGNAL ||
	    cpa_signal_is_ours(&info))
		return;
	/*
	 * The kernel takes those of the thread first, so ours is not pending. Those of the process must not become
	 * the thread's: one would swallow what the program sends next, and no other thread could take it.
	 */
	if (info.si_code == SI_TKILL)
		cpa_kernel(SYS_rt_tgsigqueueinfo, cpa_kernel(SYS_getpid), cpa_kernel(SYS_gettid),
			   CPA_SIGNAL, &info);
	else /* the kernel wants the caller's own id, not that of the process */
		cpa_kernel(SYS_rt_sigqueueinfo, cpa_kernel(SYS_gettid), CPA_SIGNAL, &info);
}

CPA_ARCH_SIGNAL_HANDLER static void on_signal(int sig, siginfo_t *info, void *context)
{
	int err = errno;

	if (cpa_signal_is_ours(info)) {
		/*
		 * Signals are blocked: another handler might jump out of ours. The return from the
		 * signal restores the mask.
		 */
		if (finished || !cpa_signal_block(NULL))
			return;
		ours(context, 1 + (unsigned)(info->si_overrun > 0 ? info->si_overrun : 0));
		cpa_kernel_end();
	} else {
		forward(sig, info, context);
	}
	errno = err;
}

static bool lies_in(const stack_t *stack, uint64_t address)
{
	return address - (uint64_t)stack->ss_sp < stack->ss_size;
}

bool cpa_signal_has_room(uint64_t bytes)
{
	uint64_t here = (uint64_t)__builtin_frame_address(0);
	stack_t other;

	return !cpa_kernel(SYS_sigaltstack, NULL, &other) &&
	       !(other.ss_flags & SS_ONSTACK && here - (uint64_t)other.ss_sp < bytes);
}

bool cpa_signal_leaves(uint64_t from, uint64_t target)
{
	uint64_t here = (uint64_t)__builtin_frame_address(0);
	stack_t other;

	if (!cpa_kernel(SYS_sigaltstack, NULL, &other) && other.ss_flags & SS_ONSTACK &&
	    !(lies_in(&other, from) && lies_in(&other, target)))
		return !lies_in(&other, target);
	/* Stacks grow down: the handler's frames lie below the code that it interrupted. */
	return here < from && (target < here || target >= from);
}

/*
 * Install our handler with the flags and mask that the program asked for; it calls the program's
 * handler for signals that are not ours. If the program ignores the signal, ours are ignored as
 * well, and samples are lost.
 */
static int install(const struct sigaction *wanted)
{
	struct sigaction action = *wanted;

	if (action.sa_handler == SIG_IGN)
		return REAL(sigaction)(CPA_SIGNAL, &action, NULL);
	if (action.sa_handler == SIG_DFL) {
		action.sa_flags = SA_RESTART;
		/* Relaxed: the thread that finds a shared stack installs the handler again. */
		if (!__atomic_load_n(&shared_stack, __ATOMIC_RELAXED))
			action.sa_flags |= SA_ONSTACK;
		cpa_signal_mask(&action.sa_mask);
	}
	action.sa_flags = (action.sa_flags | SA_SIGINFO) & ~(int)SA_RESETHAND;
	action.sa_sigaction = on_signal;
	return REAL(sigaction)(CPA_SIGNAL, &action, NULL);
}

/* Note where the handler that we have just installed returns to, which libc does not show. */
static void find_return(void)
{
	struct {
		uint64_t handler, flags, restorer, mask;
	} action = { 0 };

	if (!cpa_kernel(SYS_rt_sigaction, CPA_SIGNAL, NULL, &action, sizeof(action.mask)))
		handlers_return = action.restorer;
}

const void *cpa_signal_interrupted(const void *context)
{
	uint64_t sp = cpa_arch_stack_pointer(context), pc = cpa_arch_program_counter(context);

	if (!handlers_return || !cpa_stack_is_readable(sp))
		return NULL;
	/*
	 * The kernel left its record there. The handler has done nothing yet, or is back: one that works may
	 * have no frame of its own either.
	 */
	if (pc != handlers_return) {
		if (*(const uint64_t *)sp != handlers_return || cpa_function_start(pc) != pc)
			return NULL;
		sp += sizeof(sp);
	}
	return cpa_stack_is_readable(sp) && cpa_stack_is_readable(sp + CPA_ARCH_CONTEXT) ?
		       (const void *)sp :
		       NULL;
}

bool cpa_signal_init(void (*handler)(void *context, unsigned times))
{
	struct sigaction before;

	if (REAL(sigaction)(CPA_SIGNAL, NULL, &before))
		return false;
	set_disposition(&before);
	ours = handler;
	if (install(&before))
		return false;
	find_return();
	return true;
}

const sigset_t *cpa_signal_without_ours(const sigset_t *mask, sigset_t *copy)
{
	sigset_t pending;
	bool waits;

	if (likely(!mask || !ours) || finished || disposition()->sa_handler != SIG_DFL ||
	    !cpa_kernel_begin())
		return mask;
	waits = !REAL(sigpending)(&pending) && sigismember(&pending, CPA_SIGNAL);
	cpa_kernel_end();
	if (!waits)
		return mask;
	*copy = *mask;
	sigaddset(copy, CPA_SIGNAL);
	return copy;
}

void cpa_signal_sent(void)
{
	/* Relaxed: it tells nothing of other memory. */
	__atomic_store_n(&sent, true, __ATOMIC_RELAXED);
}

bool cpa_signal_is_only_ours(void)
{
	/* Relaxed: a thread sees what it has sent itself; of others it cannot know when. */
	return ours && !__atomic_load_n(&sent, __ATOMIC_RELAXED);
}

void cpa_signal_fini(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	finished = true;
	/*
	 * A signal of ours that arrives late would end the process by default. Nobody else sends
	 * it.
	 */
	if (ours && disposition()->sa_handler == SIG_DFL)
		REAL(sigaction)(CPA_SIGNAL, &ignore, NULL);
}

/* An alternate stack may be large enough for one signal frame, and not for ours on top of it. */
static bool needs_mask(const struct sigaction *action)
{
	return action && action->sa_flags & SA_ONSTACK && action->sa_handler != SIG_DFL &&
	       action->sa_handler != SIG_IGN && !sigismember(&action->sa_mask, CPA_SIGNAL);
}

/* sigaction() for signals but our own. */
static int set_other(int sig, const struct sigaction *action, struct sigaction *old)
{
	uint64_t bit = sig > 0 && sig < _NSIG ? UINT64_C(1) << (sig - 1) : 0, before;
	bool mask = needs_mask(action);
	struct sigaction copy;
	int ret;

	if (mask) {
		copy = *action;
		sigaddset(&copy.sa_mask, CPA_SIGNAL);
	}
	ret = REAL(sigaction)(sig, mask ? &copy : action, old);
	if (ret)
		return ret;
	/* Relaxed: the program must order its own calls for one signal. */
	before = mask	? __atomic_fetch_or(&masked, bit, __ATOMIC_RELAXED) :
		 action ? __atomic_fetch_and(&masked, ~bit, __ATOMIC_RELAXED) :
			  __atomic_load_n(&masked, __ATOMIC_RELAXED);
	if (old && before & bit)
		sigdelset(&old->sa_mask, CPA_SIGNAL);
	return 0;
}

CPA_EXPORT int sigaction(int sig, const struct sigaction *restrict action,
			 struct sigaction *restrict old)
{
	struct sigaction before;

	if (!ours)
		return REAL(sigaction)(sig, action, old);
	if (likely(sig != CPA_SIGNAL))
		return set_other(sig, action, old);
	before = *disposition();
	if (action) {
		set_disposition(action);
		install(action);
	}
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

/*
 * Our signal must not use an alternate stack that two threads share: take SA_ONSTACK away before
 * the second thread has it.
 */
CPA_EXPORT int sigaltstack(const stack_t *restrict stack, stack_t *restrict old)
{
	int err = errno;

	/* Relaxed, both: a thread that got the stack from another one is ordered behind it. */
	if (ours && !finished && stack && !(stack->ss_flags & SS_DISABLE) &&
	    __atomic_exchange_n(&last_stack, stack->ss_sp, __ATOMIC_RELAXED) == stack->ss_sp &&
	    !__atomic_exchange_n(&shared_stack, true, __ATOMIC_RELAXED)) {
		install(disposition());
		errno = err;
	}
	return REAL(sigaltstack)(stack, old);
}
