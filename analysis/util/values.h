/* SPDX-License-Identifier: MIT */
/*
 * analysis/util/values.h - what is known of events, as long as a later event may want it
 *
 * A value is a row of numbers, found by its event's name. It goes when it has been used as often as
 * it can be, or when its owner (a lock, of its last release) has got another.
 */
#ifndef CPA_ANALYSIS_UTIL_VALUES_H
#define CPA_ANALYSIS_UTIL_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPA_USES_ANY UINT32_MAX

/* From keys, not 0, to words: linear probing. */
struct cpa_map {
	uint64_t *key, *word;
	size_t size, used; /* a power of two */
};

void cpa_map_fini(struct cpa_map *map);
/* The word of @key, 0 if there is none. */
uint64_t cpa_map_get(const struct cpa_map *map, uint64_t key);
void cpa_map_set(struct cpa_map *map, uint64_t key, uint64_t word);
void cpa_map_remove(struct cpa_map *map, uint64_t key);

struct cpa_values {
	unsigned width;
	struct cpa_map by_name, by_owner, kept;
	uint64_t *row;
	uint32_t *left, *spare;
	size_t rows, room, spares;
	size_t most; /* values at once */
};

void cpa_values_init(struct cpa_values *values, unsigned width);
void cpa_values_fini(struct cpa_values *values);
/* Forget all values, but not which ones are to be kept. */
void cpa_values_clear(struct cpa_values *values, unsigned width);

/* Room for the value of @name, good until the next call, which is used @uses times. */
uint64_t *cpa_values_put(struct cpa_values *values, uint64_t name, uint32_t uses);
/* The value of @name, NULL if there is none. */
const uint64_t *cpa_values_get(const struct cpa_values *values, uint64_t name);
/* The value of @name, if there is one, has been used; or is not used any more. */
void cpa_values_use(struct cpa_values *values, uint64_t name);
void cpa_values_drop(struct cpa_values *values, uint64_t name);
/* @owner, not 0, has @name now, whose value may follow later, and not that which it had. */
void cpa_values_own(struct cpa_values *values, uint64_t owner, uint64_t name);
bool cpa_values_owns(const struct cpa_values *values, uint64_t owner, uint64_t name);
/* Whether the value of @name is never to go. */
bool cpa_values_kept(const struct cpa_values *values, uint64_t name);
/* Let @name's value, when it is put again, never go. False: that was said before. */
bool cpa_values_keep(struct cpa_values *values, uint64_t name);

#endif
