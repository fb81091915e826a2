/* SPDX-License-Identifier: MIT */
/* shadow/format/layout_windows.h - how the parts of a run differ, in the session file */
#ifndef CPA_SHADOW_FORMAT_LAYOUT_WINDOWS_H
#define CPA_SHADOW_FORMAT_LAYOUT_WINDOWS_H

#include <stdint.h>

/*
 * Arrays of struct cpa_window_sums, each of cpa_windows_slots() values. Of H: the values at the last
 * start; then (double) sums over the parts before it: squares of what a part added, and products of
 * that with what it added to L. The same of S. The last array is internal.
 */
enum cpa_window_array {
	CPA_WINDOW_H = 0,
	CPA_WINDOW_S = 3,
	CPA_WINDOW_NOW = 6,
	CPA_WINDOW_ARRAYS = 7
};

/* Ticks, squares of ticks. Written by the first thread of each part: shadow/edge/windows.h. */
struct cpa_window_sums {
	uint64_t epoch; /* atomic: of the last start that was noted */
	uint32_t busy;	/* atomic: 1 while the sums change, or since their writer was killed */
	uint32_t count; /* parts in the sums */
	uint64_t len;	/* L at the last start */
	double square;	/* sum of squares of what the parts added to L */
	uint64_t value[];
};

#endif
