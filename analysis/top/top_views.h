/* SPDX-License-Identifier: MIT */
/* analysis/top/top_views.h - the tables of cpa top: columns and visible rows */
#ifndef CPA_ANALYSIS_TOP_TOP_VIEWS_H
#define CPA_ANALYSIS_TOP_TOP_VIEWS_H

#include "analysis/top/top.h"

enum cpa_top_unit {
	CPA_UNIT_TEXT,
	CPA_UNIT_SECONDS,
	CPA_UNIT_CHANGE, /* seconds with a sign */
	CPA_UNIT_SHARE,	 /* 0 to 1, shown as per cent */
	CPA_UNIT_COUNT,
	CPA_UNIT_RATE, /* per second */
	CPA_UNIT_ID
};

struct cpa_top_column {
	const char *head;
	enum cpa_top_unit unit;
	/* The value for row @i of the profile; NAN: not known. */
	double (*value)(const struct cpa_top *top, size_t i);
	/* For CPA_UNIT_TEXT: the text for row @i, which the caller frees. */
	char *(*text)(const struct cpa_top *top, size_t i);
	bool remark; /* a column for cpa_table_remark() */
	bool scarce; /* a column for cpa_table_scarce() */
	/* Half of the 95 % interval of the value, in a column "+-" behind it; NULL, NAN: not known. */
	double (*margin)(const struct cpa_top *top, size_t i);
};

struct cpa_top_table {
	const char *name;
	size_t columns;
	struct cpa_top_column column[CPA_TOP_COLUMNS];
	size_t (*count)(const struct cpa_profile *profile);
	bool (*shown)(const struct cpa_profile *profile, size_t i);	/* NULL: all are */
	struct cpa_top_key (*key)(const struct cpa_top *top, size_t i); /* opened by Enter */
};

const struct cpa_top_table *cpa_top_table(enum cpa_top_view view);

/*
 * The rows of the present view that pass the filter, in order, which the caller frees; their number
 * in *@count.
 */
size_t *cpa_top_rows(const struct cpa_top *top, size_t *count);

/* The thread's state, one word, and its last event. The caller frees it. */
char *cpa_top_thread_state(const struct cpa_top *top, size_t thread);
char *cpa_top_thread_event(const struct cpa_top *top, size_t thread);

/* Items that entered or left queue @i per second in the last interval; NAN: no interval. */
double cpa_top_queue_in(const struct cpa_top *top, size_t i);
double cpa_top_queue_out(const struct cpa_top *top, size_t i);

/* How long readers of stream @i waited for data, and bytes that were written to it a second, lately. */
double cpa_top_stream_starved(const struct cpa_top *top, size_t i);
double cpa_top_stream_rate(const struct cpa_top *top, size_t i);

/* Whether the column has a column "+-" behind it: the run was profiled in windows. */
bool cpa_top_has_margin(const struct cpa_top *top, const struct cpa_top_column *column);

/* The text of the cell in that column, which the caller frees. */
char *cpa_top_margin(const struct cpa_top *top, const struct cpa_top_column *column, size_t row);

/* The text of a cell, which the caller frees. */
char *cpa_top_cell(const struct cpa_top *top, const struct cpa_top_column *column, size_t row);

#endif
