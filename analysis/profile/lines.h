/* SPDX-License-Identifier: MIT */
/*
 * analysis/profile/lines.h - where in a function its time went
 *
 * The instructions at which stacks were taken divide a function's path and CPU time, as its callers do:
 * its lines add up to it. Needs debug information; without it a line is one instruction.
 */
#ifndef CPA_ANALYSIS_PROFILE_LINES_H
#define CPA_ANALYSIS_PROFILE_LINES_H

#include "analysis/profile/profile.h"

struct cpa_line_figures {
	const struct cpa_component_figures *function; /* whose code it is */
	char *inlined; /* name of the function that is inlined there, the innermost one; NULL: none */
	char *file;    /* NULL: not known; then */
	uint64_t offset; /* is that of the instruction, as the module's file has addresses; 0: not known */
	uint32_t line;
	uint64_t stacks; /* on the critical path */
	double path_s, cpu_s;
};

struct cpa_lines {
	size_t count;
	struct cpa_line_figures *line; /* by function, inlined, file, line and offset */
};

/* NULL is allowed. */
void cpa_lines_free(struct cpa_lines *lines);

#endif
