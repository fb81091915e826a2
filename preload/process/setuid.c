/* SPDX-License-Identifier: MIT */
/*
 * preload/process/setuid.c - the process becomes another user
 *
 * Only its user may read a session. A child that changes its user, even for a while, leaves the
 * session before it does anything as the other user. The first process keeps the files that it has
 * created.
 */
#include "preload/process/setuid.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/process/life.h"
#include "preload/process/process.h"
#include "preload/libc/real.h"
#include "preload/stream/holders.h"

static int changed(int ret, uid_t before)
{
	int err = errno;

	if (!ret && cpa_process_is_child() && (geteuid() != before || getuid() != before)) {
		cpa_holders_astray(); /* it keeps its descriptors */
		cpa_life_leave();
	}
	errno = err;
	return ret;
}

CPA_EXPORT int setuid(uid_t user)
{
	uid_t before = geteuid();

	return changed(REAL(setuid)(user), before);
}

CPA_EXPORT int seteuid(uid_t user)
{
	uid_t before = geteuid();

	return changed(REAL(seteuid)(user), before);
}

CPA_EXPORT int setreuid(uid_t real, uid_t effective)
{
	uid_t before = geteuid();

	return changed(REAL(setreuid)(real, effective), before);
}

CPA_EXPORT int setresuid(uid_t real, uid_t effective, uid_t saved)
{
	uid_t before = geteuid();

	return changed(REAL(setresuid)(real, effective, saved), before);
}

long cpa_setuid_call(long number, const long argument[])
{
	uid_t before = geteuid();
	long ret = REAL(syscall)(number, argument[0], argument[1], argument[2]);

	return changed((int)ret, before);
}
