/* SPDX-License-Identifier: MIT */
/*
 * shadow/store/session.h - the mapped session file: creation, space, counters
 *
 * The whole address range is mapped at creation. File blocks are allocated step by step, before the
 * first store to them, so that a full disk is an error in cpa_session_alloc() and never a SIGBUS
 * later (Linux before 5.14 offers no way to check this). No descriptor is kept: a target that
 * closes all descriptors, or reuses their numbers, does no harm.
 */
#ifndef CPA_SHADOW_STORE_SESSION_H
#define CPA_SHADOW_STORE_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shadow/format/layout.h"

#define CPA_HIDDEN  __attribute__((visibility("hidden")))
#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Address where the session is mapped; NULL: none. Written once, before any other thread exists. */
extern CPA_HIDDEN char *cpa_base;

static inline struct cpa_header *cpa_header(void)
{
	return (struct cpa_header *)cpa_base;
}

static inline void *cpa_at(uint64_t offset)
{
	return cpa_base + offset;
}

static inline uint64_t cpa_offset(const void *p)
{
	return (uint64_t)((const char *)p - cpa_base);
}

/* Return @n rounded up to a multiple of @to, a power of two. */
static inline uint64_t cpa_round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) & ~(to - 1);
}

/*
 * Create the session file @path and map it; @path NULL: anonymous memory (tests). @limit: maximum
 * address space in bytes; less is taken if the process is limited. @slots: see struct cpa_header.
 * Return 0 or -errno; a failure leaves nothing behind.
 */
CPA_HIDDEN int cpa_session_create(const char *path, uint64_t limit, uint32_t slots);

/*
 * Map the session file @path that another process of the same user made: @inode and @secret, as
 * announced by that process, must match the file and its header. Return 0 or -errno.
 */
CPA_HIDDEN int cpa_session_join(const char *path, uint64_t inode, uint64_t secret);

/*
 * The process may from now on use @space bytes of address space: reduce the session to a sixteenth
 * of that, or to the part in use if that is more, and unmap the rest. Limits the session for all
 * its processes. Lock-free; signal-safe; errno is kept.
 */
CPA_HIDDEN void cpa_session_fit(uint64_t space);

/* Return the bytes of address space mapped at cpa_base in this process. */
CPA_HIDDEN uint64_t cpa_session_mapped(void);

/* Unmap the session (tests). No other thread may use it. */
CPA_HIDDEN void cpa_session_destroy(void);

/*
 * Allocate @size zeroed bytes of session memory that are never freed. @align: a power of two up to
 * a page. Return the offset; 0: no space. Lock-free; signal-safe.
 */
CPA_HIDDEN uint64_t cpa_session_alloc(uint64_t size, uint64_t align);

/*
 * As cpa_session_alloc(), aligned to a page, but without space in the file: cpa_session_back() must
 * allocate it before the first store, and code that reads the whole session must skip it
 * (shadow/store/copy_out.h). cpa_session_back() returns whether [@at, @at + @size) now has space.
 */
CPA_HIDDEN uint64_t cpa_session_reserve(uint64_t size);
CPA_HIDDEN bool cpa_session_back(uint64_t at, uint64_t size);

/* Add 1 or @n to a diagnostic counter. Any thread, any context. */
static inline void cpa_diag_add(enum cpa_diagnostic what, uint64_t n)
{
	/* Relaxed: a statistic, no data depends on it. */
	__atomic_fetch_add(&cpa_header()->diag[what], n, __ATOMIC_RELAXED);
}

static inline void cpa_diag(enum cpa_diagnostic what)
{
	cpa_diag_add(what, 1);
}

#endif
