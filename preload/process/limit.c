/* SPDX-License-Identifier: MIT */
/*
 * preload/process/limit.c - wrappers of the functions that set limits
 *
 * The address space that the session reserves counts against the program's limit, used or not.
 * After the limit is set, the session keeps no more than if it had been set from the start.
 */
#include "preload/process/limit.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/core/alive.h"
#include "preload/process/process.h"
#include "preload/libc/real.h"

/*
 * The program has set @limit of @resource, if @ret is 0. @limit NULL: it has only read the limit.
 */
static void set(int ret, int resource, const struct rlimit *limit)
{
	int err = errno;

	/* A child of vfork() sets its own limit, not that of the process whose memory it uses. */
	if (!ret && resource == RLIMIT_AS && limit && cpa_base &&
	    (!*cpa_alive || cpa_process_is_this()))
		cpa_session_fit(limit->rlim_cur);
	errno = err;
}

static bool is_self(pid_t pid)
{
	return !pid || pid == getpid();
}

long cpa_limit_call(long number, const long a[])
{
	long ret = REAL(syscall)(number, a[0], a[1], a[2], a[3]);

	if (number == SYS_setrlimit)
		set((int)ret, (int)a[0], (const struct rlimit *)a[1]);
	else if (is_self((pid_t)a[0]))
		set((int)ret, (int)a[1], (const struct rlimit *)a[2]);
	return ret;
}

CPA_EXPORT int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	int ret = REAL(setrlimit)(resource, limit);

	set(ret, (int)resource, limit);
	return ret;
}

/* The two structures are the same on x86-64. */
CPA_EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit)
{
	int ret = REAL(setrlimit64)(resource, limit);

	set(ret, (int)resource, (const struct rlimit *)limit);
	return ret;
}

CPA_EXPORT int prlimit(pid_t pid, __rlimit_resource_t resource, const struct rlimit *limit,
		       struct rlimit *old)
{
	int ret = REAL(prlimit)(pid, resource, limit, old);

	if (is_self(pid))
		set(ret, (int)resource, limit);
	return ret;
}

CPA_EXPORT int prlimit64(pid_t pid, __rlimit_resource_t resource, const struct rlimit64 *limit,
			 struct rlimit64 *old)
{
	int ret = REAL(prlimit64)(pid, resource, limit, old);

	if (is_self(pid))
		set(ret, (int)resource, (const struct rlimit *)limit);
	return ret;
}
