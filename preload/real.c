/* SPDX-License-Identifier: MIT */
#include "preload/real.h"

#include <dlfcn.h>
#include <errno.h>

#include "preload/log.h"

/* What a wrapper of a function that does not exist calls: no program can have linked to it. */
static int missing(void)
{
	return ENOSYS;
}

void *cpa_real_find(const char *name, const char *version)
{
	int err = errno;
	void *f = version ? dlvsym(RTLD_NEXT, name, version) : NULL;

	if (!f)
		f = dlsym(RTLD_NEXT, name);
	errno = err;
	if (f)
		return f;
	cpa_warn("no original of %s found; calls to it fail with ENOSYS", name);
	return (void *)missing;
}
