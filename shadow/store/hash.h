/* SPDX-License-Identifier: MIT */
/*
 * shadow/store/hash.h - Fibonacci hashing, for small tables of addresses and row numbers
 */
#ifndef CPA_SHADOW_STORE_HASH_H
#define CPA_SHADOW_STORE_HASH_H

#include <stdint.h>

/*
 * @key times 2^64 divided by the golden ratio. One multiplication; the high bits depend on all bits
 * of @key, the lowest bit on one. So the caller shifts right by 20 bits or more before it cuts the
 * result to a table's size. cpa_index_hash() in shadow/store/index.h mixes all bits.
 */
static inline uint64_t cpa_hash(uint64_t key)
{
	return key * UINT64_C(0x9e3779b97f4a7c15);
}

#endif
