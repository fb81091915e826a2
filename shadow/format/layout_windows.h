/* SPDX-License-Identifier: MIT */
/*
 * shadow/format/layout_windows.h - sums at the begins of the windows of a budget; part of
 * shadow/format/layout.h
 */
#ifndef CPA_SHADOW_FORMAT_LAYOUT_WINDOWS_H
#define CPA_SHADOW_FORMAT_LAYOUT_WINDOWS_H

#define CPA_WINDOW_SAMPLES 64u /* a power of two */

/* Fields of a sample; ticks. */
enum cpa_window_field {
	CPA_WINDOW_LEN, /* L of the longest path */
	CPA_WINDOW_ON,	/* for which profiling was on */
	/* Sums of all threads, as in struct cpa_thread. */
	CPA_WINDOW_PROCESS,
	CPA_WINDOW_WAIT,
	CPA_WINDOW_FIELDS
};

/* Vectors of a sample, over component slots. */
enum cpa_window_vector {
	CPA_WINDOW_SHARE, /* H */
	CPA_WINDOW_SLACK, /* S */
	CPA_WINDOW_TOTAL, /* the sum of cpa_thread.totals */
	CPA_WINDOW_VECTORS
};

/*
 * Cumulative values when a window begins. Sample j, from 0, is of the moment when j << level windows
 * have ended. With CPA_WINDOW_SAMPLES samples every second one is dropped, and the level grows.
 * Written by the process that keeps the budget, which is none of the session's; so the session's
 * processes neither write nor read it.
 */
struct cpa_window_series {
	uint64_t writing; /* atomic: odd while the rest changes */
	uint64_t windows; /* begun so far */
	uint32_t level, samples;
	uint32_t slots, pad;
	/* [samples][CPA_WINDOW_FIELDS + CPA_WINDOW_VECTORS * slots] */
	uint64_t value[];
};

#endif
