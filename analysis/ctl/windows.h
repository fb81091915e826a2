/* SPDX-License-Identifier: MIT */
/*
 * analysis/ctl/windows.h - profile windows of a run, within a budget of CPU time
 *
 * A window begins at a random moment and lasts WINDOW_NS. When it ends, the CPU time that cpa took in it
 * is compared with the CPU time that the program had in it; the mean gap to the next window is chosen
 * so that the cost, over windows and gaps, is the budget. A program that costs less than the budget
 * while profiling is on has one long window. Random gaps, of up to twice the mean, meet no period of
 * the program's.
 *
 * The program does not wait for a window to begin or end: the launcher writes one word of the session.
 */
#ifndef CPA_ANALYSIS_CTL_WINDOWS_H
#define CPA_ANALYSIS_CTL_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/ctl/control.h"

struct cpa_windows {
	double budget; /* most CPU time of cpa's, as a share of the program's; 0: no windows */
	const char *session;
	/* Private. */
	uint64_t next_ns; /* of the next change; 0: the first is not planned yet */
	bool is_open, is_on;
	struct cpa_control control;
	struct cpa_control_cost begun; /* at the start of the window */
	double cost, cpu;	       /* ticks in windows, the latest ones most */
	uint64_t epoch;		       /* of the last change; another one: somebody else switches */
	unsigned short random[3];
};

/* Parse "2%" or "0.5%" into *@share. Return false if @text is not from 0.01% to 100%. */
bool cpa_windows_budget(const char *text, double *share);

/* Time of the next change, ns after the start of the program; UINT64_MAX: none. */
uint64_t cpa_windows_next(struct cpa_windows *windows);

/* Make the change that is due at @now. If the program is not ready, it is tried again. */
void cpa_windows_act(struct cpa_windows *windows, uint64_t now);

#endif
