/* SPDX-License-Identifier: MIT */
/*
 * analysis/launch/parts.h - profile a part of a run: after a delay, for a time
 */
#ifndef CPA_ANALYSIS_LAUNCH_PARTS_H
#define CPA_ANALYSIS_LAUNCH_PARTS_H

#include <stdbool.h>
#include <stdint.h>

struct cpa_parts {
	uint64_t delay_ns, duration_ns; /* 0: none */
	/* Private. */
	const char *session;
	unsigned done; /* changes made */
};

/* Read "500ms", "30s", "1.5m" or "2h" into *@ns. False: it is no time. */
bool cpa_parts_time(const char *text, uint64_t *ns);

/* When, in ns after the start of the program, there is something to do next; UINT64_MAX: never. */
uint64_t cpa_parts_next(const struct cpa_parts *parts);

/* Do it, @now. Where the program is not ready yet, that is tried again a little later. */
void cpa_parts_act(struct cpa_parts *parts, uint64_t now);

#endif
