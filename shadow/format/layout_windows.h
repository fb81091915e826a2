/* SPDX-License-Identifier: MIT */
/*
 * shadow/format/layout_windows.h - sums at the begins of the windows of a budget; part of
 * shadow/format/layout.h
 */
#ifndef CPA_SHADOW_FORMAT_LAYOUT_WINDOWS_H
#define CPA_SHADOW_FORMAT_LAYOUT_WINDOWS_H

#include <stddef.h>
#include <stdint.h>

#define CPA_WINDOW_SAMPLES 64u	/* a power of two */
#define CPA_WINDOW_ROWS	   256u /* threads, and streams, that have values: the first ones */

/* Fields of a sample; ticks. */
enum cpa_window_field {
	CPA_WINDOW_LEN,	 /* L of the longest path */
	CPA_WINDOW_ON,	 /* for which profiling was on */
	CPA_WINDOW_GAPS, /* the mean gaps before the windows: see struct cpa_window_series */
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
	/*
	 * Of classes of objects and of queues, by cpa_component.first: ticks that threads waited for the
	 * objects, or items in the queues; ticks for which the objects were held, or number of items that
	 * left the queues.
	 */
	CPA_WINDOW_WAITED,
	CPA_WINDOW_USED,
	CPA_WINDOW_VECTORS
};

/* Values of a sample, over rows of a table, from 1 to CPA_WINDOW_ROWS; ticks. */
enum cpa_window_row {
	CPA_WINDOW_THREAD_CPU, /* up to its last event, as cpa_thread.before says */
	CPA_WINDOW_THREAD_WAIT,
	CPA_WINDOW_STREAM_WAITING,
	CPA_WINDOW_STREAM_BLOCKING,
	CPA_WINDOW_ROW_VALUES
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
	/*
	 * Ticks: of each window begun so far the mean of the gap from which the one before it was drawn. A window
	 * stands for that and for itself.
	 */
	uint64_t gaps;
	uint64_t value[]; /* [samples][cpa_window_length(slots)] */
};

/* Where a sample has the value of @slot, and of @row. */
static inline size_t cpa_window_slot(uint32_t slots, enum cpa_window_vector vector, uint32_t slot)
{
	return CPA_WINDOW_FIELDS + vector * (size_t)slots + slot;
}

static inline size_t cpa_window_row(uint32_t slots, enum cpa_window_row value, uint32_t row)
{
	return CPA_WINDOW_FIELDS + CPA_WINDOW_VECTORS * (size_t)slots +
	       value * (size_t)CPA_WINDOW_ROWS + row - 1;
}

static inline size_t cpa_window_length(uint32_t slots)
{
	return cpa_window_row(slots, CPA_WINDOW_ROW_VALUES, 1);
}

#endif
