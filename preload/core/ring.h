/* SPDX-License-Identifier: MIT */
/*
 * preload/core/ring.h - the ring of samples that the kernel writes for a thread's perf event
 *
 * The kernel writes records and data_head; the thread that opened the ring reads them, inside our code, and writes
 * data_tail. The mapping keeps the event alive, so its descriptor is closed.
 */
#ifndef CPA_PRELOAD_CORE_RING_H
#define CPA_PRELOAD_CORE_RING_H

#include <linux/perf_event.h>

#include "preload/core/perf_event.h"

/*
 * A sample of a perf event: time, and a call chain of two: the marker of its kind, and the program
 * counter.
 */
struct cpa_ring_chain {
	uint64_t ns, length, context, pc;
};

#define CPA_RING_SAMPLES \
	(CPA_PERF_RING / (sizeof(struct perf_event_header) + sizeof(struct cpa_ring_chain)))

struct cpa_ring {
	volatile struct perf_event_mmap_page *map; /* NULL: no perf event */
	const uint64_t *head; /* what was written, or `tail` if there is no event */
	uint64_t tail;	      /* what was read */
	bool blind;	      /* it has no samples of the kernel */
};

/* What the kernel tells: a sample, or that samples are lost. */
struct cpa_ring_record {
	uint64_t ns;   /* of a sample: CLOCK_MONOTONIC; else 0 */
	uint64_t pc;   /* of a sample; 0: not in code of the program */
	uint64_t lost; /* samples */
};

/* @r has no perf event. */
CPA_HIDDEN void cpa_ring_init(struct cpa_ring *r);

/*
 * Open a perf event that samples the calling thread *@rate times in a second of its CPU time, or less often: the rate
 * that was set is stored in *@rate. False: not possible. It may sleep for milliseconds. errno is changed.
 */
CPA_HIDDEN bool cpa_ring_open(struct cpa_ring *r, unsigned *rate);

/* End the perf event, if there is one. What was not read is lost. */
CPA_HIDDEN void cpa_ring_close(struct cpa_ring *r);

/* Whether a thread is opening a perf event: another one would take as long. A hint. */
CPA_HIDDEN bool cpa_ring_is_opening(void);

/* In a child of fork(): the threads that may be opening one are gone. */
CPA_HIDDEN void cpa_ring_forked(void);

/*
 * In a child that may go on in code of ours with its parent's ring: the kernel gives a child no mapping of it. From now
 * on it is memory, and empty.
 */
CPA_HIDDEN void cpa_ring_leave(struct cpa_ring *r);

/* Up to where the kernel has written; for cpa_ring_next() and cpa_ring_free(). There is a perf event. */
CPA_HIDDEN uint64_t cpa_ring_written(const struct cpa_ring *r);

/* Read the next sample or loss before @head into *@record. False: there is none. */
CPA_HIDDEN bool cpa_ring_next(struct cpa_ring *r, uint64_t head, struct cpa_ring_record *record);

/* All before @head is read: the kernel may overwrite it. */
CPA_HIDDEN void cpa_ring_free(struct cpa_ring *r, uint64_t head);

/* Whether there is something to read. */
static inline bool cpa_ring_is_unread(const struct cpa_ring *r)
{
	/* Relaxed: cpa_ring_written() looks again. */
	return __atomic_load_n(r->head, __ATOMIC_RELAXED) != r->tail;
}

#endif
