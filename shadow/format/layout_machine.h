/* SPDX-License-Identifier: MIT */
/*
 * shadow/format/layout_machine.h - what operations take on the machine, in the session file
 */
#ifndef CPA_SHADOW_FORMAT_LAYOUT_MACHINE_H
#define CPA_SHADOW_FORMAT_LAYOUT_MACHINE_H

#include <stdint.h>

/* Where the ticks of all times come from. */
enum cpa_source {
	CPA_SOURCE_COUNTER = 0, /* the time stamp counter */
	CPA_SOURCE_CHANGES = 1, /* a process is writing the figures of the change */
	CPA_SOURCE_KERNEL = 2,	/* CLOCK_MONOTONIC, from the start: the kernel trusts no counter */
	CPA_SOURCE_DRIFT = 3	/* the same, since the counter was seen to run off */
};

/*
 * Written by the first process at its start, but for what says otherwise. 0: not known.
 */
struct cpa_machine {
	uint32_t counter_ns; /* a look at the counter */
	uint32_t look_ns;    /* a look at the thread's CPU clock, which asks the kernel */
	/*
	 * The interrupt for a sample of a perf event: the shortest of several close together.
	 * Atomic: by the thread that opens the first such event.
	 */
	uint32_t interrupt_ns;
	uint32_t brief_ns; /* B of preload/core/untimed.h. Atomic: with the interrupt */
	uint32_t most_hz;  /* atomic: samples a second, if fewer than asked for; else 0 */
	uint32_t source;   /* atomic: enum cpa_source; only grows. All processes follow it */
	/* Of a change, written before it is published: the ticks of a moment of CLOCK_MONOTONIC, */
	uint64_t source_ticks, source_ns;
	uint64_t source_rate;			/* ticks in 2^20 ns from there on, */
	uint64_t drift_ticks, drift_over_ticks; /* and how far the counter was off, over how long */
};

#endif
