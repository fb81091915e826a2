/* SPDX-License-Identifier: MIT */
/*
 * preload/core/worker_reads.h - the read-write locks that a thread reads
 *
 * Only the thread reads and writes it: preload/sync/rwlock.c. preload/core/untimed.c gives a begin to
 * sections that were not timed; preload/core/window.c clears it at the end of a part.
 */
#ifndef CPA_PRELOAD_CORE_WORKER_READS_H
#define CPA_PRELOAD_CORE_WORKER_READS_H

#include <stdint.h>

struct cpa_object; /* shadow/format/layout_object.h */

#define CPA_READS     16u
#define CPA_READ_USES 16u

struct cpa_worker_reads {
	struct {
		struct cpa_object *object;
		uint64_t since; /* clock at the begin of the section, ticks; 0: not timed */
	} held[CPA_READS];
	unsigned count;
	/* Locks that the thread has read lately, for the decision to leave a use untimed. */
	struct cpa_read_use {
		struct cpa_object *object;
		uint64_t written; /* clock of the lock's last write release, at the last timed use */
		uint32_t run;	  /* timed uses since that release */
		uint32_t tick;	  /* worker.clock.tick at the last timed use */
		uint32_t mean;	  /* estimated length, ticks times CPA_UNTIMED_SCALE */
	} uses[CPA_READ_USES];
};

#endif
