/* SPDX-License-Identifier: MIT */
/*
 * preload/libc/memory.h - what this process alone needs: jemalloc, a copy of our own
 *
 * The session's heap (shadow/store/heap.h) is for what processes share and reports read; here is what
 * neither has a use for: workers of threads, what a thread that begins is told, stacks of
 * instrumented calls. Never the program's malloc.
 *
 * Thread-safe, and nobody waits: one thread at a time is in jemalloc, and who finds another there
 * maps pages instead. So do all for good after a jump out of jemalloc by a signal handler, and in
 * a child of fork() whose parent had another thread in jemalloc. Of thousands of threads that begin
 * few meet. Not to be called from signal handlers, which cpa_tls.inside keeps out.
 */
#ifndef CPA_PRELOAD_LIBC_MEMORY_H
#define CPA_PRELOAD_LIBC_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "shadow/store/self.h"

/*
 * Start jemalloc. False: it cannot start, and must not be called again: another thread would wait
 * for this one to start it, for ever.
 */
CPA_HIDDEN bool cpa_memory_init(void);

/*
 * @size bytes of zeros, aligned to a cache line; NULL: no memory. Keeps errno. For good: see
 * preload/libc/pool.h.
 */
CPA_HIDDEN void *cpa_memory_alloc(size_t size);

/* The thread leaves jemalloc, which then has nothing of it. See preload/libc/jemalloc_hooks.c. */
CPA_HIDDEN void cpa_memory_leave(void);

#endif
