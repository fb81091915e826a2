/* SPDX-License-Identifier: MIT */
/* analysis/compare/side.h - the runs of one side of a comparison, as JSON reports */
#ifndef CPA_ANALYSIS_COMPARE_SIDE_H
#define CPA_ANALYSIS_COMPARE_SIDE_H

#include <jansson.h>
#include <stddef.h>

struct cpa_side {
	size_t runs;
	char **file;  /* printable */
	json_t **run; /* a report, as docs/schema.json describes */
};

/*
 * Add the runs of @argument: a dump; a file that cpa-report --format json wrote; a folder of either;
 * or PREFIX, for PREFIX.1.dump, PREFIX.2.dump and so on. Return 0; or -1 with *@error, which the
 * caller frees.
 */
int cpa_side_add(struct cpa_side *side, const char *argument, char **error);
void cpa_side_fini(struct cpa_side *side);

#endif
