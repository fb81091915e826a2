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
 * As vfork(): the caller goes on when the thread has ended. It has the caller's thread-local
 * memory, which nobody else uses meanwhile.
 */
#define FLAGS (CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_VFORK)

#define PATIENCE 10000u /* looks at a thread that has ended */

/*
 * The kernel lets the caller go on when thread @tid has given up its memory, a moment before the
 * thread is gone. A program that has one thread, and asks whether it has (as sandboxes do, and the
 * kernel for unshare()), must not find another. errno is kept.
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

	/* Valgrind ends a program that makes such a thread. */
	if (cpa_arch_in_valgrind() || !cpa_kernel_begin()) {
		errno = ENOSYS;
		return false;
	}
	/*
	 * No handler runs there, not that of a fault either: it would be on this little stack, and
	 * by another thread's name.
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
