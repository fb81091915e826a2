/* SPDX-License-Identifier: MIT */
/* shadow/format/layout_machine.h - costs of basic operations on the machine, in the session file */
#ifndef CPA_SHADOW_FORMAT_LAYOUT_MACHINE_H
#define CPA_SHADOW_FORMAT_LAYOUT_MACHINE_H

#include <stdint.h>

/* Source of the ticks of all times. */
enum cpa_source {
	CPA_SOURCE_COUNTER = 0, /* the time stamp counter */
	CPA_SOURCE_CHANGES = 1, /* a process is writing source_ticks to drift_over_ticks */
	/* CLOCK_MONOTONIC from the start: the kernel does not trust the counter */
	CPA_SOURCE_KERNEL = 2,
	CPA_SOURCE_DRIFT = 3 /* CLOCK_MONOTONIC, since the counter was found to drift */
};

/* Written by the first process at its start, except where a field says otherwise. 0: not known. */
struct cpa_machine {
	uint32_t counter_ns; /* cost of reading the counter, ns */
	uint32_t look_ns;    /* cost of reading the thread's CPU clock by a system call, ns */
	/*
	 * Cost of an interrupt for a sample of a perf event, ns: the shortest of several in
	 * succession. Atomic: written by the thread that opens the first such event.
	 */
	uint32_t interrupt_ns;
	uint32_t brief_ns; /* B of preload/core/untimed.h, ns. Atomic: written with interrupt_ns */
	uint32_t most_hz;  /* atomic: samples a second if fewer than requested, else 0 */
	uint32_t source;   /* atomic: enum cpa_source; only grows. All processes follow it */
	/*
	 * The change of source, written before it is published: one moment in ticks and
	 * CLOCK_MONOTONIC ns,
	 */
	uint64_t source_ticks, source_ns;
	uint64_t source_rate;			/* ticks per 2^20 ns from then on, */
	uint64_t drift_ticks, drift_over_ticks; /* and the counter's error over a number of ticks */
	/*
	 * Cost of a sleep that ends at once, ns: system call, switch to another thread or to idle,
	 * interrupt, and switch back.
	 */
	uint32_t wake_ns;
};

/*
 * The processors that the first process could run on, while it ran. Written by cpa run at the end; all
 * 0: not known. Times are sums over these processors, ns; the kernel counts them in ticks of 10 ms.
 */
struct cpa_load {
	uint64_t all_ns;    /* busy or not */
	uint64_t busy_ns;   /* busy, whoever used them */
	uint64_t stolen_ns; /* not there, though wanted: a hypervisor gave them to others */
	uint64_t own_ns; /* of busy_ns: of the first process, and of children that were waited for */
};

#endif
