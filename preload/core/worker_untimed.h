/* SPDX-License-Identifier: MIT */
/*
 * preload/core/worker_untimed.h - a thread's untimed critical sections since its last event
 *
 * Only the thread reads and writes it: preload/core/untimed.[ch], where the estimate is explained,
 * preload/sync/lock.h and preload/sync/rwlock.c, which open and close sections, and
 * preload/core/window.c, which clears it at the end of a part.
 */
#ifndef CPA_PRELOAD_CORE_WORKER_UNTIMED_H
#define CPA_PRELOAD_CORE_WORKER_UNTIMED_H

#include <stdbool.h>
#include <stdint.h>

struct cpa_object; /* shadow/format/layout_object.h */

#define CPA_UNTIMED 4u /* lock classes noted at a time */
#define CPA_OPEN    4u /* open sections, without those of readers */

struct cpa_worker_untimed {
	struct cpa_untimed {
		uint32_t class; /* component row; 0: unused */
		bool open;	/* a section of the class has not ended */
		uint64_t ticks; /* estimated length of its sections, times CPA_UNTIMED_SCALE */
	} classes[CPA_UNTIMED];
	uint32_t count;			   /* sections noted */
	struct cpa_object *open[CPA_OPEN]; /* locks of the open sections, the innermost last */
	uint32_t open_count;
	uint32_t open_reads; /* open sections of readers: entries of worker.reads */
	/*
	 * The mean to which the drawn section contributes, until its first activity ends. NULL: no
	 * section was drawn.
	 */
	uint32_t *begun;
	bool learns; /* it is one of the first of its kind: they are summed for the first mean */
	uint64_t begun_at; /* clock right before a section that was not one of the first, ticks */
	bool cut;	   /* the next event would not have been without a sample or switch */
	int32_t draw;	   /* sections until the next drawn one */
	uint32_t random;   /* state of the generator of `draw`; 0: not used yet */
};

#endif
