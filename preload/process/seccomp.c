/* SPDX-License-Identifier: MIT */
/*
 * preload/process/seccomp.c - programs that forbid themselves system calls or the counter
 *
 * After a seccomp filter, a system call that the program never makes may kill it: also one of ours.
 * After PR_SET_TSC, reading the time stamp counter kills it. So the profile ends just before, and
 * from then on no thread makes a system call of ours: see shadow/store/kernel.h. A filter that only
 * makes calls fail does not end the profile: all of ours may fail.
 *
 * Not seen: a filter that the program installs by a system call instruction of its own.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "preload/process/seccomp.h"
#include "preload/process/life.h"
#include "preload/libc/log.h"
#include "preload/process/process.h"
#include "preload/libc/real.h"
#include "preload/core/signal.h"
#include "preload/core/track.h"
#include "preload/stream/holders.h"
#include "shadow/store/kernel.h"

/* Whether the filter may do anything to a system call but allow it or make it fail. */
static bool may_kill(const struct sock_fprog *program)
{
	for (unsigned i = 0; program && program->filter && i < program->len; i++) {
		uint32_t action = program->filter[i].k & SECCOMP_RET_ACTION_FULL;

		if (BPF_CLASS(program->filter[i].code) != BPF_RET)
			continue;
		/* a computed result may be any action */
		if (BPF_RVAL(program->filter[i].code) != BPF_K ||
		    (action != SECCOMP_RET_ALLOW && action != SECCOMP_RET_LOG &&
		     action != SECCOMP_RET_ERRNO))
			return true;
	}
	return false;
}

static bool is_end(long number, const long argument[5])
{
	const long *a = argument;

	if (number == SYS_seccomp)
		return a[0] == SECCOMP_SET_MODE_STRICT ||
		       (a[0] == SECCOMP_SET_MODE_FILTER &&
			may_kill((const struct sock_fprog *)a[2]));
	if (number != SYS_prctl)
		return false;
	if (a[0] == PR_SET_SECCOMP)
		return a[1] == SECCOMP_MODE_STRICT ||
		       (a[1] == SECCOMP_MODE_FILTER && may_kill((const struct sock_fprog *)a[2]));
	return a[0] == PR_SET_TSC && a[1] == PR_TSC_SIGSEGV;
}

static void end_profile(const char *how)
{
	if (*cpa_alive) {
		cpa_warn("the program is about to confine itself (%s): the profile ends here", how);
		cpa_holders_astray(); /* the process keeps its descriptors */
		cpa_life_end();
		cpa_alive_end(); /* also in a handler that interrupted our code */
	}
	cpa_signal_fini();
}

void cpa_seccomp_before_call(long number, const long argument[5])
{
	if (likely(!is_end(number, argument)))
		return;
	/* An earlier filter may forbid the calls below. */
	if (!cpa_kernel_is_closed()) {
		/*
		 * A child of vfork() sets a filter for itself, not for the process whose memory it
		 * uses. A child that has not joined is no process of the session, either.
		 */
		if (*cpa_alive && !cpa_process_is_this())
			return;
		end_profile(number == SYS_prctl && argument[0] == PR_SET_TSC ? "PR_SET_TSC" :
									       "seccomp");
	}
	/* Also after the end of the profile: a wait that began before it is still in our code. */
	cpa_kernel_close();
}

CPA_EXPORT int prctl(int option, ...)
{
	long argument[5] = { option };
	va_list args;
	int ret;

	/* As libc does: read all arguments, whether or not they were passed. */
	va_start(args, option);
	for (int i = 1; i < 5; i++)
		argument[i] = va_arg(args, long);
	va_end(args);
	cpa_seccomp_before_call(SYS_prctl, argument);
	ret = REAL(prctl)(option, argument[1], argument[2], argument[3], argument[4]);
	/* The thread has a new name. */
	if (ret == 0 && option == PR_SET_NAME)
		cpa_thread_named((const char *)argument[1], CPA_CALLER());
	return ret;
}
