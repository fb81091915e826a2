/* SPDX-License-Identifier: MIT */
/*
 * analysis/util/values.h - values of events, kept while a later event may need them
 *
 * A value is a row of numbers, found by its event's name. It is dropped after its last possible
 * use, or when its owner (a lock whose last release it is) gets another value.
 */
#ifndef CPA_ANALYSIS_UTIL_VALUES_H
#define CPA_ANALYSIS_UTIL_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPA_USES_ANY UINT32_MAX

/* Hash map from keys, not 0, to words; linear probing. */
struct cpa_map {
	uint64_t *key, *word;
	size_t size, used; /* size is a power of two */
};

void cpa_map_fini(struct cpa_map *map);
/* The word of @key; 0 if absent. */
uint64_t cpa_map_get(const struct cpa_map *map, uint64_t key);
void cpa_map_set(struct cpa_map *map, uint64_t key, uint64_t word);
void cpa_map_remove(struct cpa_map *map, uint64_t key);

struct cpa_values {
	unsigned width;
	struct cpa_map by_name, by_owner, kept;
	uint64_t *row;
	uint32_t *left, *spare;
	size_t rows, room, spares;
	size_t most; /* largest number of values at a time */
};

void cpa_values_init(struct cpa_values *values, unsigned width);
void cpa_values_fini(struct cpa_values *values);
/* Drop all values, but not the list of names to keep. */
void cpa_values_clear(struct cpa_values *values, unsigned width);

/*
 * Make room for the value of @name, to be used @uses times. The pointer is valid until the next
 * call.
 */
uint64_t *cpa_values_put(struct cpa_values *values, uint64_t name, uint32_t uses);
/* The value of @name; NULL if there is none. */
const uint64_t *cpa_values_get(const struct cpa_values *values, uint64_t name);
/* Count one use of the value of @name, if there is one; or drop it. */
void cpa_values_use(struct cpa_values *values, uint64_t name);
void cpa_values_drop(struct cpa_values *values, uint64_t name);
/*
 * From now on @owner, not 0, owns the value of @name, which may be stored later; its former value
 * is dropped.
 */
void cpa_values_own(struct cpa_values *values, uint64_t owner, uint64_t name);
bool cpa_values_owns(const struct cpa_values *values, uint64_t owner, uint64_t name);
/* Whether the value of @name is kept for ever. */
bool cpa_values_kept(const struct cpa_values *values, uint64_t name);
/*
 * Keep the value of @name for ever when it is stored again. Return false if that was requested
 * before.
 */
bool cpa_values_keep(struct cpa_values *values, uint64_t name);

#endif
