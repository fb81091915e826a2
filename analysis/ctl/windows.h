/* SPDX-License-Identifier: MIT */
/*
 * analysis/ctl/windows.h - profile windows of a run, within a budget of CPU time
 *
 * A window begins at a random moment and lasts WINDOW_NS, the first one TRIAL_NS if it costs much. When it ends, the
 * CPU time that cpa took in it is compared with the CPU time that the program had in it; the mean gap to the next window
 * is chosen so that the cost, over windows and gaps, is the budget. A program that costs less than
 * the budget while profiling is on has one long window. Random gaps, of up to twice the mean, meet
 * no period of the program's.
 *
 * The program does not wait for a window to begin or end: cpa run or cpa ctl writes one word of the
 * session. One process does so at a time: it holds a lock on the file (flock()), of which the
 * program knows nothing, and which the kernel takes from a process that ends.
 */
#ifndef CPA_ANALYSIS_CTL_WINDOWS_H
#define CPA_ANALYSIS_CTL_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/ctl/control.h"
#include "analysis/ctl/window_sums.h"

struct cpa_windows {
	double budget; /* most CPU time of cpa's, as a share of the program's; 0: no windows */
	const char *session;
	/* Private. */
	uint64_t next_ns;   /* of the next change; 0: the first is not planned yet */
	uint64_t length_ns; /* of the latest window; 0: there was none yet */
	bool is_open, is_on;
	bool is_taken; /* another process keeps a budget */
	struct cpa_control control;
	struct cpa_window_sums sums;
	struct cpa_control_cost begun; /* at the start of the window */
	double cost, cpu;	       /* ticks in windows, the latest ones most */
	double gap_ns;	/* mean of those that the gap before the next window is drawn from */
	uint64_t epoch; /* of the last change; another one: somebody else switches */
	unsigned short random[3];
};

/* Parse "2%" or "0.5%" into *@share. Return false if @text is not from 0.01% to 100%. */
bool cpa_windows_budget(const char *text, double *share);

/*
 * Switch profiling off, for the one who controls the session, and end the windows that another
 * process keeps. Return 0; or -1 with *@error the message, which the caller frees: neither was on.
 */
int cpa_windows_stop(struct cpa_control *control, char **error);

/*
 * Open the session, for this process alone. Return 0; or -1 with *@error the message, which the
 * caller frees.
 */
int cpa_windows_open(struct cpa_windows *windows, char **error);

/* Profiling is off; give the session back. No change follows. Only if it is open. */
void cpa_windows_close(struct cpa_windows *windows);

/*
 * Time of the next change, ns after a moment that the caller chooses; UINT64_MAX: none, as somebody
 * else switches, or keeps a budget, or the program has ended.
 */
uint64_t cpa_windows_next(struct cpa_windows *windows);

/* Make the change that is due at @now. If the program is not ready, it is tried again. */
void cpa_windows_act(struct cpa_windows *windows, uint64_t now);

#endif
