/* SPDX-License-Identifier: MIT */
/*
 * preload/core/worker_regions.h - the regions (cpa.h) that a thread is in
 *
 * Only the thread reads and writes it: preload/core/region.c. preload/core/window.c empties the stack
 * at the end of a part.
 */
#ifndef CPA_PRELOAD_CORE_WORKER_REGIONS_H
#define CPA_PRELOAD_CORE_WORKER_REGIONS_H

#include <stdint.h>

#define CPA_REGIONS	 64u
#define CPA_REGION_CACHE 16u

struct cpa_worker_regions {
	uint32_t stack[CPA_REGIONS]; /* component rows, the innermost last */
	unsigned count; /* may exceed CPA_REGIONS: regions beyond it are only counted */
	struct {
		const char *text; /* address that the program passed; NULL: unused */
		uint32_t name;	  /* name row of the text that was there */
		uint32_t component;
	} names[CPA_REGION_CACHE];
};

#endif
