/* SPDX-License-Identifier: MIT */
/*
 * shadow/layout_machine.h - what operations take on the machine, in the session file
 */
#ifndef CPA_SHADOW_LAYOUT_MACHINE_H
#define CPA_SHADOW_LAYOUT_MACHINE_H

#include <stdint.h>

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
	uint32_t brief_ns; /* B of preload/untimed.h. Atomic: with the interrupt */
	uint32_t most_hz;  /* atomic: samples a second, if fewer than asked for; else 0 */
	uint32_t pad;
};

#endif
