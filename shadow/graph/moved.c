/* SPDX-License-Identifier: MIT */
#include "shadow/graph/moved.h"

#define MOST 512u /* modules in the table; addresses in others are not translated */

uint32_t cpa_moved_any;

static struct {
	uint32_t module; /* atomic; 0: unused */
	uint64_t by;	 /* atomic */
} moved[MOST];

void cpa_moved_set(uint32_t module, uint64_t by)
{
	for (unsigned i = 0; i < MOST; i++) {
		uint32_t none = 0;

		/* RELEASE: entries become visible in order. */
		if (!__atomic_compare_exchange_n(&moved[i].module, &none, module, false,
						 __ATOMIC_RELEASE, __ATOMIC_RELAXED) &&
		    none != module)
			continue;
		/* RELEASE: pairs with cpa_moved_slow(). */
		__atomic_store_n(&moved[i].by, by, __ATOMIC_RELEASE);
		__atomic_store_n(&cpa_moved_any, 1, __ATOMIC_RELEASE);
		return;
	}
}

uint64_t cpa_moved_slow(uint64_t address, uint32_t module)
{
	for (unsigned i = 0; module && i < MOST; i++) {
		uint32_t at = __atomic_load_n(&moved[i].module, __ATOMIC_RELAXED);

		if (at == module)
			/* ACQUIRE pairs with cpa_moved_set(). */
			return address - __atomic_load_n(&moved[i].by, __ATOMIC_ACQUIRE);
		if (!at)
			break;
	}
	return address;
}
