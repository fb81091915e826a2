/* SPDX-License-Identifier: MIT */
/*
 * analysis/profile/spin.h - how much of the work is no work: loops of the program that wait for another thread
 *
 * Each stack ends at an instruction, and the loop around it is decoded (analysis/symbols/spin_loop.h). So it is a share of
 * samples, and less than all: a loop that calls something is not known.
 */
#ifndef CPA_ANALYSIS_PROFILE_SPIN_H
#define CPA_ANALYSIS_PROFILE_SPIN_H

#include <stdbool.h>
#include <stdint.h>

struct cpa_spin_figures {
	uint64_t stacks; /* that end in such loops; 0: the rest is not set */
	double path_s, cpu_s;
	char *function, *location; /* of the loop with most CPU time; NULL: not known */
};

/* Whether threads of the library with this file name look for work for some time before they block. */
bool cpa_spin_is_library(const char *name);

#endif
