/* SPDX-License-Identifier: MIT */
/*
 * shadow/graph/cut.h - the program's result at a boundary of shadow/graph/checkpoint.h
 *
 * The join of the states of all threads there: what the report would say had the program ended.
 */
#ifndef CPA_SHADOW_GRAPH_CUT_H
#define CPA_SHADOW_GRAPH_CUT_H

#include "shadow/store/self.h"

struct cpa_cut {
	uint64_t boundary;		   /* at clock boundary * header.period */
	uint64_t field[CPA_SERIES_FIELDS]; /* by enum cpa_series_field: L, sums of all threads ... */
	uint32_t slots;			   /* of the arrays below: those in use then, or more */
	uint64_t *share;		   /* H[slots] of the longest path, ticks */
	uint64_t *slack;		   /* S[slots] */
	uint64_t *total;		   /* [slots]: see cpa_thread.totals */
	uint32_t rows;
	struct cpa_thread_point *point; /* [rows]: of thread row i + 1; NULL: not read */
};

/*
 * An empty cut with room for the @slots first slots. Free it. Return false if there is no memory.
 */
CPA_HIDDEN bool cpa_cut_init(struct cpa_cut *cut, uint32_t slots);
CPA_HIDDEN void cpa_cut_free(struct cpa_cut *cut);

/*
 * Let @cut, which is empty, be the program's at @boundary, which is past. Return false if that
 * cannot be had: threads have passed later ones, or one has been at an event for long. Any thread.
 */
CPA_HIDDEN bool cpa_cut_read(struct cpa_cut *cut, uint64_t boundary);

#endif
