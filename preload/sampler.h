/* SPDX-License-Identifier: MIT */
/*
 * preload/sampler.h - where the calling thread spends its CPU time
 *
 * First choice: a perf cpu-clock event on the thread, whose ring its owner drains at its next
 * event, and in a signal after each second of CPU time, before it overflows. Where perf events are
 * refused the signal comes more often and its handler keeps the program counter. The signal is
 * that of a timer on the thread's CPU clock; see preload/signal.h.
 */
#ifndef CPA_PRELOAD_SAMPLER_H
#define CPA_PRELOAD_SAMPLER_H

#include "shadow/activity.h"

#define CPA_FUNCTION_CACHE 64u

struct cpa_sampler {
	bool has_timer;
	int timer;				    /* the kernel's number */
	volatile struct perf_event_mmap_page *ring; /* of the perf event; NULL: none */
	uint64_t tail;				    /* of the ring, what was read */
	/*
	 * Samples since the last event, by program counter of the function. Filled by the owner,
	 * or by its signal handler while it is not inside our code.
	 */
	uint32_t pending;
	uint32_t slot[CPA_SAMPLED_SLOTS];
	uint32_t count[CPA_SAMPLED_SLOTS];
	/* Program counters to slots. */
	struct {
		uint64_t pc;
		uint32_t slot;
	} functions[CPA_FUNCTION_CACHE];
};

/* Choose the kind of sampler for @hz samples per CPU second; 0: none. Once, at start. */
CPA_HIDDEN void cpa_sampler_init(unsigned hz);

/* For the calling thread. */
CPA_HIDDEN void cpa_sampler_start(struct cpa_sampler *s);
CPA_HIDDEN void cpa_sampler_stop(struct cpa_sampler *s);

/* Read the ring. Inside our code only. */
CPA_HIDDEN void cpa_sampler_drain(struct cpa_sampler *s);

/* Whether there is something to move to a span. */
CPA_HIDDEN bool cpa_sampler_waiting(const struct cpa_sampler *s);

/* Move what was sampled since the last event to @span. */
CPA_HIDDEN void cpa_sampler_take(struct cpa_sampler *s, struct cpa_span *span);

#endif
