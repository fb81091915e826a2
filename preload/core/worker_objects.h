/* SPDX-License-Identifier: MIT */
/*
 * preload/core/worker_objects.h - a thread's caches of object rows and lock classes
 *
 * Only the thread reads and writes them: preload/core/object.[ch], and preload/sync/lock.h and
 * preload/sync/rwlock.c for look-ups in line. An object row never moves, and its address stays valid
 * until the process ends; the kind and class in it may change, so each look-up compares the kind.
 */
#ifndef CPA_PRELOAD_CORE_WORKER_OBJECTS_H
#define CPA_PRELOAD_CORE_WORKER_OBJECTS_H

#include <stdint.h>

struct cpa_object; /* shadow/format/layout_object.h */

#define CPA_OBJECT_CACHE 256u
#define CPA_CLASS_CACHE	 16u

struct cpa_worker_objects {
	struct {
		uint64_t address; /* in the program; 0: unused */
		struct cpa_object *object;
	} cache[CPA_OBJECT_CACHE];
	/* Lock classes by the call that initialized an object. */
	struct cpa_class_place {
		uint64_t caller; /* return address in the program; 0: unused */
		uint32_t kind;	 /* enum cpa_object_kind */
		uint32_t class;	 /* component row */
	} classes[CPA_CLASS_CACHE];
	uint32_t loads; /* cpa_unloads for which `classes` and worker.nodes hold */
};

#endif
