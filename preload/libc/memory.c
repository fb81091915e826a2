/* SPDX-License-Identifier: MIT */
#include "preload/libc/memory.h"

#include <errno.h>
#include <sys/mman.h>

#include "shadow/store/kernel.h"

/* jemalloc's public functions, under the names that scripts/private-jemalloc.sh gives them. */
void *cpa_je_mallocx(size_t size, int flags);
void cpa_je_dallocx(void *p, int flags);
CPA_HIDDEN extern const char *cpa_je_malloc_conf;
CPA_HIDDEN extern void (*cpa_je_malloc_message)(void *argument, const char *text);

/*
 * Options that jemalloc reads at its first call. One arena and no caches, for few and long-lived
 * blocks. No dss: the break belongs to the program.
 */
const char *cpa_je_malloc_conf =
	"narenas:1,tcache:false,background_thread:false,retain:false,dss:disabled";

#define LINE	    6	     /* MALLOCX_LG_ALIGN(6) */
#define TCACHE_NONE (1 << 8) /* MALLOCX_TCACHE_NONE */
#define ZERO	    0x40     /* MALLOCX_ZERO */

/* No messages: stderr belongs to the program. The caller reports that memory is missing. */
static void say_nothing(void *argument, const char *text)
{
	(void)argument, (void)text;
}

/*
 * Atomic. 1: a thread is in jemalloc, or was there when it jumped out, or when the process was
 * forked.
 */
static uint32_t taken;

bool cpa_memory_init(void)
{
	void *p;

	cpa_je_malloc_message = say_nothing;
	p = cpa_je_mallocx(1, TCACHE_NONE);
	if (p)
		cpa_je_dallocx(p, TCACHE_NONE);
	cpa_memory_leave();
	return p != NULL;
}

/* See preload/libc/jemalloc_hooks.c. */
static void *map(size_t size)
{
	void *p = (void *)cpa_kernel(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);

	return p == MAP_FAILED ? NULL : p;
}

void *cpa_memory_alloc(size_t size)
{
	int err = errno;
	void *p;

	/*
	 * ACQUIRE pairs with the RELEASE below: the state of jemalloc is that which the last thread
	 * left.
	 */
	if (likely(!__atomic_exchange_n(&taken, 1, __ATOMIC_ACQUIRE))) {
		p = cpa_je_mallocx(size, LINE | TCACHE_NONE | ZERO);
		cpa_memory_leave();
		/* ACQUIRE pairs with the RELEASE below */
		__atomic_store_n(&taken, 0, __ATOMIC_RELEASE);
	} else {
		p = map(size);
	}
	errno = err;
	return p;
}
