/* SPDX-License-Identifier: MIT */
/* analysis/launch/parts.h - what is done while a program runs: parts of the run, windows, copies */
#ifndef CPA_ANALYSIS_LAUNCH_PARTS_H
#define CPA_ANALYSIS_LAUNCH_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/ctl/windows.h"
#include "analysis/launch/keep.h"

struct cpa_parts {
	uint64_t delay_ns, duration_ns; /* 0: none */
	struct cpa_keep keep;
	/* Private. */
	const char *session;
	unsigned done; /* number of changes made */
	struct cpa_windows windows;
};

/* Parse "500ms", "30s", "1.5m" or "2h" into *@ns. Return false if @text is not a time. */
bool cpa_parts_time(const char *text, uint64_t *ns);

/* Time of the next change, ns after the start of the program; UINT64_MAX: none. */
uint64_t cpa_parts_next(struct cpa_parts *parts);

/*
 * Make the change that is due. If the program is not ready, it is tried again a little later. The
 * program was started at @started_ns of CLOCK_MONOTONIC.
 */
void cpa_parts_act(struct cpa_parts *parts, uint64_t started_ns);

#endif
