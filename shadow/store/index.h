/* SPDX-License-Identifier: MIT */
/*
 * shadow/store/index.h - levels of hashed lines in the session, allocated on demand
 *
 * Level k has 64 << 2k lines of CPA_INDEX_LINE words, one cache line each. A key has one line per
 * level; in tables it may also use the next lines of the last level. The index defines the meaning
 * of the words: see shadow/store/table.h and shadow/edge/item.h. Levels are allocated in order and
 * never freed.
 */
#ifndef CPA_SHADOW_STORE_INDEX_H
#define CPA_SHADOW_STORE_INDEX_H

#include "shadow/store/session.h"

#define CPA_INDEX_PROBES (CPA_INDEX_LEVELS + 3) /* lines that a table searches for a key */

/* As cpa_block(), but for a block that does not exist yet; allocated by @alloc. */
CPA_HIDDEN uint64_t cpa_block_slow(uint64_t *where, uint64_t size,
				   uint64_t (*alloc)(uint64_t size));

/* As cpa_session_alloc(), aligned to a page. */
CPA_HIDDEN uint64_t cpa_block_alloc(uint64_t size);

/*
 * Return the offset of the block of @size zeroed bytes at *@where; the first caller allocates it.
 * 0: no space.
 */
static inline uint64_t cpa_block(uint64_t *where, uint64_t size)
{
	/*
	 * ACQUIRE pairs with cpa_block_slow(): the block is zero anyway, but its pages must exist.
	 */
	uint64_t at = __atomic_load_n(where, __ATOMIC_ACQUIRE);

	return likely(at) ? at : cpa_block_slow(where, size, cpa_block_alloc);
}

static inline uint64_t cpa_index_hash(uint64_t x)
{
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

static inline uint64_t cpa_index_lines(unsigned level)
{
	return UINT64_C(64) << 2 * level;
}

static inline unsigned cpa_index_level(unsigned probe)
{
	return probe < CPA_INDEX_LEVELS ? probe : CPA_INDEX_LEVELS - 1;
}

static inline uint64_t *cpa_index_line_at(uint64_t block, unsigned probe, uint64_t hash)
{
	unsigned level = cpa_index_level(probe);
	uint64_t line = (hash + probe - level) & (cpa_index_lines(level) - 1);

	return block ? (uint64_t *)cpa_at(block) + line * CPA_INDEX_LINE : NULL;
}

/* Return line @probe of @hash; NULL if its level does not exist yet. */
static inline uint64_t *cpa_index_line(const uint64_t *levels, unsigned probe, uint64_t hash)
{
	/* ACQUIRE pairs with cpa_block_slow(). */
	uint64_t block = __atomic_load_n(&levels[cpa_index_level(probe)], __ATOMIC_ACQUIRE);

	return cpa_index_line_at(block, probe, hash);
}

/* As cpa_index_line(), but a missing level is allocated. NULL: no space. */
static inline uint64_t *cpa_index_line_new(uint64_t *levels, unsigned probe, uint64_t hash)
{
	unsigned level = cpa_index_level(probe);
	uint64_t size = cpa_index_lines(level) * CPA_INDEX_LINE * sizeof(uint64_t);

	return cpa_index_line_at(cpa_block(&levels[level], size), probe, hash);
}

#endif
