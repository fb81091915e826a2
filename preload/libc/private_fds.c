/* SPDX-License-Identifier: MIT */
#include "preload/libc/private_fds.h"

#include <errno.h>
#include <linux/sched.h>
#include <stdint.h>
#include <unistd.h>

#include "shadow/arch/arch.h"
#include "shadow/store/kernel.h"

#define STACK 2048u

/*
 * The flags of vfork(), but not CLONE_FILES: the thread has a descriptor table of its own. The
 * caller goes on when the new thread has ended. It uses the caller's thread-local memory, which
 * nobody else uses in the meantime.
 */
#define FLAGS (CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_VFORK)

#define PATIENCE 10000u /* checks whether the thread has gone */

/*
 * Wait until thread @tid is gone. The kernel lets the caller go on when the thread has given up its
 * memory, a moment earlier. A program that checks that it has only one thread, as sandboxes do, and
 * the kernel in unshare(), must not find another. errno is kept.
 */
static void await_gone(long tid)
{
	int err = errno;

	for (unsigned i = 0; i < PATIENCE && !syscall(SYS_tkill, tid, 0); i++)
		syscall(SYS_sched_yield);
	errno = err;
}

bool cpa_private_fds_call(void (*function)(void *), void *argument)
{
	_Alignas(16) char stack[STACK];
	uint64_t all = UINT64_MAX, before;
	long ret;

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
	ret = cpa_arch_clone(FLAGS, stack + sizeof(stack), function, argument);
	if (ret > 0)
		await_gone(ret);
	syscall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &before, NULL, sizeof(before));
	cpa_kernel_end();
	if (ret < 0)
		errno = (int)-ret;
	return ret >= 0;
}
