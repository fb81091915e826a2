/* SPDX-License-Identifier: MIT */
/*
 * shadow/store/session.h - the mapped session file: creation, space, counters
 *
 * The whole address range is mapped at creation; the file's blocks are allocated step by step, and
 * before the first store to them, so that a full disk is an error here and never a SIGBUS there
 * (not before Linux 5.14, which cannot be asked). No descriptor is kept: a target that closes every
 * descriptor, or reuses their numbers, cannot hurt.
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

/* Where the session is mapped; NULL while there is none. Written once, before any other thread. */
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

/* @n, or the next multiple of @to, a power of two. */
static inline uint64_t cpa_round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) & ~(to - 1);
}

/*
 * Create the session file @path and map it; @path NULL: anonymous memory (tests). @limit is the
 * address space to take at most, in bytes; less is taken if the process is limited. @slots: see
 * struct cpa_header. Return 0 or -errno; nothing is left behind on failure.
 */
CPA_HIDDEN int cpa_session_create(const char *path, uint64_t limit, uint32_t slots);

/*
 * Map the session file @path, made by another process of the same user: its inode must be @inode,
 * and @secret be in its header, as that process said. Return 0 or -errno.
 */
CPA_HIDDEN int cpa_session_join(const char *path, uint64_t inode, uint64_t secret);

/*
 * The process may have @space bytes of address space from now on: take no more than a sixteenth of
 * them, or what is in use, and give the rest back. The session, of all its processes, gets no larger
 * than that. Lock-free; signal-safe; errno is kept.
 */
CPA_HIDDEN void cpa_session_fit(uint64_t space);

/* Bytes of address space that the process has at cpa_base. */
CPA_HIDDEN uint64_t cpa_session_mapped(void);

/* Unmap the session (tests). No other thread may use it. */
CPA_HIDDEN void cpa_session_destroy(void);

/*
 * Hand out @size bytes of zeroed session memory, never given back. @align: a power of two up to a
 * page. Return the offset, 0 if there is no space. Lock-free; signal-safe.
 */
CPA_HIDDEN uint64_t cpa_session_alloc(uint64_t size, uint64_t align);

/*
 * The same, at a page, without space in the file: cpa_session_back() must bring it before the first
 * store, and what reads all must know of it (shadow/store/copy_out.h). That returns whether there is
 * space for [@at, @at + @size).
 */
CPA_HIDDEN uint64_t cpa_session_reserve(uint64_t size);
CPA_HIDDEN bool cpa_session_back(uint64_t at, uint64_t size);

/* Count one or @n of what was lost. Any thread, any context. */
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
