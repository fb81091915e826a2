/* SPDX-License-Identifier: MIT */
/* analysis/profile/parts.h - parts of the run that were profiled, and marks in it */
#ifndef CPA_ANALYSIS_PROFILE_PARTS_H
#define CPA_ANALYSIS_PROFILE_PARTS_H

#include <stdint.h>

/* What was profiled of the run, by its own time. */
struct cpa_part_figures {
	double from_s, to_s;
};

struct cpa_mark_figures {
	uint32_t row;
	char *name;
	uint32_t tid; /* 0: of a thread that left no figures */
	double at_s, critical_path_s;
};

#endif
