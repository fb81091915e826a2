/* SPDX-License-Identifier: MIT */
#include "preload/memory.h"

#include <errno.h>

/* jemalloc's public interface under the names that scripts/private-jemalloc.sh gives it. */
void *cpa_je_mallocx(size_t size, int flags);
void cpa_je_dallocx(void *p, int flags);
CPA_HIDDEN extern const char *cpa_je_malloc_conf;
CPA_HIDDEN extern void (*cpa_je_malloc_message)(void *argument, const char *text);

/* Read by jemalloc at its first call. One arena, no caches: few and long-lived blocks. */
const char *cpa_je_malloc_conf = "narenas:1,tcache:false,background_thread:false,retain:false";

#define LINE	    6	     /* MALLOCX_LG_ALIGN(6) */
#define TCACHE_NONE (1 << 8) /* MALLOCX_TCACHE_NONE */
#define ZERO	    0x40     /* MALLOCX_ZERO */

/* What fails is said by whoever asked for memory: stderr is the target's. */
static void say_nothing(void *argument, const char *text)
{
	(void)argument, (void)text;
}

bool cpa_memory_init(void)
{
	void *p;

	cpa_je_malloc_message = say_nothing;
	p = cpa_memory_alloc(1);
	if (p)
		cpa_je_dallocx(p, TCACHE_NONE);
	return p != NULL;
}

void *cpa_memory_alloc(size_t size)
{
	int err = errno;
	void *p = cpa_je_mallocx(size, LINE | TCACHE_NONE | ZERO);

	errno = err;
	return p;
}
