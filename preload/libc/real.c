/* SPDX-License-Identifier: MIT */
#include "preload/libc/real.h"

#include <errno.h>

#include "preload/libc/log.h"
#include "preload/libc/symbol.h"

/* Called by a wrapper whose original does not exist: no program can be linked against it. */
static int missing(void)
{
	return ENOSYS;
}

void *cpa_real_find(const char *name, const char *version)
{
	void *f = version ? cpa_symbol_next(name, version) : NULL;

	if (!f)
		f = cpa_symbol_next(name, NULL);
	if (f)
		return f;
	cpa_warn("no original of %s found; calls to it fail with ENOSYS", name);
	return (void *)missing;
}
