/* SPDX-License-Identifier: MIT */
/*
 * shadow/store/unseen.h - reads of what another thread may change meanwhile
 *
 * The reader looks afterwards whether it was changed, and then throws away what it has read: C3 of
 * shadow/graph/checkpoint.h. ThreadSanitizer does not know that, so such reads are hidden from it.
 */
#ifndef CPA_SHADOW_STORE_UNSEEN_H
#define CPA_SHADOW_STORE_UNSEEN_H

#include <stddef.h>
#include <stdint.h>

#define CPA_UNSEEN __attribute__((no_sanitize("thread")))

/* Copy @size bytes, a multiple of 8. */
CPA_UNSEEN static inline void cpa_unseen_copy(void *to, const void *from, size_t size)
{
	typedef uint64_t __attribute__((may_alias)) word;

	for (size_t i = 0; i < size / sizeof(word); i++)
		((word *)to)[i] = ((const volatile word *)from)[i];
}

#endif
