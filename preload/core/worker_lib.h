/* SPDX-License-Identifier: MIT */
/*
 * preload/core/worker_lib.h - a thread's state for the modules of preload/lib/
 *
 * Only the thread reads and writes it.
 */
#ifndef CPA_PRELOAD_CORE_WORKER_LIB_H
#define CPA_PRELOAD_CORE_WORKER_LIB_H

#include <stdint.h>

struct cpa_object; /* shadow/format/layout_object.h */

#define CPA_QUEUE_CACHE 16u

/* preload/lib/queue.c: a work queue that the thread used lately. */
struct cpa_queue_place {
	uint64_t address; /* in the program; 0: unused */
	uint32_t row;
};

/*
 * preload/lib/uv.c: the libuv loop that the thread runs. preload/core/window.c forgets its work at
 * the end of a part.
 */
struct cpa_worker_loop {
	const void *address; /* of the loop */
	const struct cpa_object *lock;
	uint32_t work; /* requests that the thread has submitted and not got back */
};

#endif
