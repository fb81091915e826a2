/* SPDX-License-Identifier: MIT */
#include "preload/libc/private_fds.h"

#include <errno.h>
#include <linux/sched.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shadow/arch/arch.h"
#include "shadow/store/kernel.h"

#define STACK 2048u

/*
 * The flags of vfork(), but not CLONE_FILES: the thread has a descriptor table of its own. The
 * caller goes on when the new thread has ended. It uses the caller's thread-local memory, which
 * nobody else uses in the meantime. CLONE_SYSVSEM is not set either: with it the kernel makes a list
 * for SEM_UNDO, which a process without threads does not have, and which kcmp() shows.
 */
#define FLAGS (CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_VFORK)

#define PATIENCE 10000u /* checks whether the thread has gone, until there is a nap before each */
#define COPIES	 64u	/* at once */
#define NAPS	 20000u /* of NAP_NS, and as much again that the kernel adds: longest wait for copies */
#define NAP_NS	 50000

uint32_t cpa_private_fds_copies;

/* Atomic: a number for each copy that there may be at once; odd: it is there. */
static uint32_t copies[COPIES];

/* Atomic: the process that has them. A child by other means than fork() finds its parent here. */
static uint32_t owner;

/* A copy is about to be made. NULL: there are too many. */
static uint32_t *begin_copy(void)
{
	/* Relaxed, all: the increment below makes them seen. */
	__atomic_store_n(&owner, (uint32_t)syscall(SYS_getpid), __ATOMIC_RELAXED);
	for (uint32_t *c = copies; c < copies + COPIES; c++) {
		uint32_t seen = __atomic_load_n(c, __ATOMIC_RELAXED);

		if (seen & 1 || !__atomic_compare_exchange_n(c, &seen, seen + 1, false,
							     __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			continue;
		/* SEQ_CST: before the copy is made. Pairs with cpa_private_fds_closed(). */
		__atomic_fetch_add(&cpa_private_fds_copies, 1, __ATOMIC_SEQ_CST);
		return c;
	}
	return NULL;
}

static void end_copy(uint32_t *copy)
{
	/* RELEASE, both: the copy has gone. Pairs with cpa_private_fds_await(). */
	__atomic_fetch_add(copy, 1, __ATOMIC_RELEASE);
	__atomic_fetch_sub(&cpa_private_fds_copies, 1, __ATOMIC_RELEASE);
}

static void take_nap(void)
{
	static const struct timespec nap = { 0, NAP_NS };

	syscall(SYS_nanosleep, &nap, NULL);
}

void cpa_private_fds_await(void)
{
	int err = errno;
	unsigned naps = 0;

	if (!cpa_kernel_begin())
		return;
	/* Relaxed: written before the copies were counted. */
	if (__atomic_load_n(&owner, __ATOMIC_RELAXED) == (uint32_t)syscall(SYS_getpid)) {
		for (const uint32_t *c = copies; c < copies + COPIES; c++) {
			/* ACQUIRE, both: pairs with end_copy(). */
			uint32_t seen = __atomic_load_n(c, __ATOMIC_ACQUIRE);

			while (seen & 1 && __atomic_load_n(c, __ATOMIC_ACQUIRE) == seen &&
			       naps++ < NAPS)
				take_nap();
		}
	}
	cpa_kernel_end();
	errno = err;
}

void cpa_private_fds_forked(void)
{
	memset(copies, 0, sizeof(copies));
	cpa_private_fds_copies = 0;
}

/*
 * Wait until thread @tid is gone. The kernel lets the caller go on when the thread has given up its
 * memory, a moment earlier. A program that checks that it has only one thread, as sandboxes do, and
 * the kernel in unshare(), must not find another. Where others have the processors that may take several time
 * slices: its files are open until then. errno is kept.
 */
static void await_gone(long tid)
{
	int err = errno;

	for (unsigned i = 0; i < PATIENCE + NAPS && !syscall(SYS_tkill, tid, 0); i++) {
		if (i < PATIENCE)
			syscall(SYS_sched_yield);
		else
			take_nap();
	}
	errno = err;
}

bool cpa_private_fds_call(void (*function)(void *), void *argument)
{
	_Alignas(16) char stack[STACK];
	uint64_t all = UINT64_MAX, before;
	uint32_t *copy;
	long ret = -EAGAIN;

	/* Not under Valgrind, which ends a program that makes such a thread. */
	if (cpa_arch_in_valgrind() || !cpa_kernel_begin()) {
		errno = ENOSYS;
		return false;
	}
	/*
	 * All signals are blocked: a handler, also one of a fault, would run on this small stack
	 * and under another thread's id.
	 */
	syscall(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &all, &before, sizeof(all));
	copy = begin_copy();
	if (copy) {
		ret = cpa_arch_clone(FLAGS, stack + sizeof(stack), function, argument);
		if (ret > 0)
			await_gone(ret);
		end_copy(copy);
	}
	syscall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &before, NULL, sizeof(before));
	cpa_kernel_end();
	if (ret < 0)
		errno = (int)-ret;
	return ret >= 0;
}
