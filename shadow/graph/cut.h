/* SPDX-License-Identifier: MIT */
/*
 * shadow/graph/cut.h - the program's result at a boundary of shadow/graph/checkpoint.h
 *
 * A cut is the join of the states of all threads at the boundary: the report that the program would
 * get if it had ended there.
 */
#ifndef CPA_SHADOW_GRAPH_CUT_H
#define CPA_SHADOW_GRAPH_CUT_H

#include "shadow/store/self.h"

struct cpa_cut {
	uint64_t boundary;		   /* at clock boundary * header.period */
	uint64_t field[CPA_SERIES_FIELDS]; /* by enum cpa_series_field: L, sums of all threads ... */
	/* length of the arrays below: the slots in use at that time, or more */
	uint32_t slots;
	uint64_t *share; /* [slots]: H of the longest path, ticks */
	uint64_t *slack; /* [slots]: S of the longest path, ticks */
	uint64_t *total; /* [slots]: sum of cpa_thread.totals, ticks */
	uint32_t rows;
	struct cpa_thread_point *point; /* [rows]: thread row i + 1; NULL: not read */
};

/*
 * Initialize an empty cut with room for the first @slots slots; free with cpa_cut_free(). Return
 * false if there is no memory.
 */
CPA_HIDDEN bool cpa_cut_init(struct cpa_cut *cut, uint32_t slots);
CPA_HIDDEN void cpa_cut_free(struct cpa_cut *cut);

/*
 * Read the program's cut at @boundary, which must be past, into the empty @cut. Return false if it
 * is not available: threads have passed later boundaries, or one has been inside an event for long.
 * Any thread.
 */
CPA_HIDDEN bool cpa_cut_read(struct cpa_cut *cut, uint64_t boundary);

#endif
