/* SPDX-License-Identifier: MIT */
#include "preload/real.h"

#include <dlfcn.h>
#include <errno.h>

#include "preload/log.h"
#include "preload/signal.h"
#include "preload/worker.h"

/* What a wrapper of a function that does not exist calls: no program can have linked to it. */
static int missing(void)
{
	return ENOSYS;
}

static void *find(const char *name, const char *version)
{
	void *f = version ? dlvsym(RTLD_NEXT, name, version) : NULL;

	return f ? f : dlsym(RTLD_NEXT, name);
}

/*
 * A signal handler that jumped out of dlsym() would leave the loader locked for ever. Where the
 * profile has ended, it may be because system calls are not allowed any more.
 */
void *cpa_real_find(const char *name, const char *version)
{
	int err = errno;
	void *f;

	if (*cpa_alive) {
		sigset_t before = cpa_signal_hold();

		f = find(name, version);
		cpa_signal_let(&before);
	} else {
		f = find(name, version);
	}
	errno = err;
	if (f)
		return f;
	cpa_warn("no original of %s found; calls to it fail with ENOSYS", name);
	return (void *)missing;
}
