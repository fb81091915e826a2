/* SPDX-License-Identifier: MIT */
/*
 * preload/libc/memory.h - memory private to this process, from a private copy of jemalloc
 *
 * The session's heap (shadow/store/heap.h) holds data that processes share and reports read. This
 * memory holds the rest: workers of threads, arguments of threads that begin, stacks of instrumented
 * calls. The program's malloc is never called.
 *
 * Thread-safe, and no thread waits: one thread at a time is in jemalloc, and a second one maps pages
 * instead. All threads map pages, until the process ends, once a signal handler has jumped out of
 * jemalloc, and in a child of fork() whose parent had another thread in jemalloc. Even where
 * thousands of threads begin, few of them meet. Not for signal handlers; cpa_tls.inside keeps them
 * out.
 */
#ifndef CPA_PRELOAD_LIBC_MEMORY_H
#define CPA_PRELOAD_LIBC_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "shadow/store/self.h"

/*
 * Start jemalloc. False: it cannot start. Do not call this again then: a second thread would wait
 * forever for the first to start it.
 */
CPA_HIDDEN bool cpa_memory_init(void);

/*
 * @size bytes of zeros, aligned to a cache line; NULL: no memory. Keeps errno. There is no free:
 * preload/libc/pool.h recycles.
 */
CPA_HIDDEN void *cpa_memory_alloc(size_t size);

/* The thread ends: jemalloc drops its per-thread state. See preload/libc/jemalloc_hooks.c. */
CPA_HIDDEN void cpa_memory_leave(void);

#endif
