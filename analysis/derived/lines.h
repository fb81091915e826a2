/* SPDX-License-Identifier: MIT */
/*
 * analysis/derived/lines.h - where in a function its time went, and that of what it called
 *
 * Contexts that are divided by lines (CPA_GRAPH_LINES) are added up by function and line. So the
 * lines of a function add up to it, as its contexts do. Without debug information a line is one
 * instruction.
 */
#ifndef CPA_ANALYSIS_DERIVED_LINES_H
#define CPA_ANALYSIS_DERIVED_LINES_H

#include "analysis/profile/contexts.h"

struct cpa_line_figures {
	const struct cpa_context_figures *function; /* a context of its own code */
	char *inlined; /* name of the function that is inlined there, the innermost one; NULL: none */
	char *file;    /* NULL: not known; then */
	uint64_t at; /* is that of the instruction, as the module's file has addresses; 0: not known */
	uint32_t line;
	uint64_t stacks; /* on the critical path, that end here */
	double path_s, cpu_s;
	double calls_s; /* of the path, in what is called here; of a recursion that of the outermost call */
};

struct cpa_lines {
	size_t count;
	struct cpa_line_figures *line; /* by function, inlined, file, line and instruction */
};

/* The lines of all functions. The caller frees them with cpa_lines_free() before @contexts. */
struct cpa_lines *cpa_lines_of(const struct cpa_contexts *contexts);
void cpa_lines_free(struct cpa_lines *lines);

/* Whether both are of one function. */
bool cpa_lines_are_of_one(const struct cpa_line_figures *x, const struct cpa_line_figures *y);

#endif
