/* SPDX-License-Identifier: MIT */
/* analysis/compare/side.h - the runs of one side of a comparison, as JSON reports */
#ifndef CPA_ANALYSIS_COMPARE_SIDE_H
#define CPA_ANALYSIS_COMPARE_SIDE_H

#include <jansson.h>
#include <stddef.h>
#include <time.h>

struct cpa_profile;

struct cpa_side {
	size_t blank; /* runs not in `run`, because no window of a budget fell into them */
	size_t runs;
	char **file;  /* printable */
	json_t **run; /* a report, as docs/schema.json describes */
};

/*
 * Add the runs of @argument: a dump; a file that cpa-report --format json wrote; a folder of
 * either; or PREFIX, for PREFIX.1.dump, PREFIX.2.dump and so on. Return 0; or -1 with *@error,
 * which the caller frees.
 */
int cpa_side_add(struct cpa_side *side, const char *argument, char **error);

/*
 * Add parts of one run. A part is the time between two neighbouring copies of the session
 * (analysis/input/history.h). @session: its file or process number; NULL: the newest session. The
 * first part has the moment @at in it; others follow until @seconds behind it, 0: none. Return as
 * cpa_side_add().
 */
int cpa_side_add_span(struct cpa_side *side, const char *session, const char *at, time_t seconds,
		      char **error);

/*
 * Read the dump @file, less what @before, an earlier copy of it, had; NULL: all. NULL with *@error,
 * which the caller frees, if that is not possible.
 */
json_t *cpa_side_read(const char *file, const struct cpa_profile *before, char **error);

/* Add @run, which the side then owns, or count it as blank. @file: its name. */
void cpa_side_add_run(struct cpa_side *side, const char *file, json_t *run);

/*
 * The share of its time for which @run was profiled, if that is a sample of the run: windows that a
 * budget chose. 1 of a run that was profiled as a whole, or in parts that somebody meant.
 */
double cpa_side_profiled(const json_t *run);

void cpa_side_fini(struct cpa_side *side);

#endif
