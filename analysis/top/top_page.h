/* SPDX-License-Identifier: MIT */
/* analysis/top/top_page.h - build the lines of the screen */
#ifndef CPA_ANALYSIS_TOP_TOP_PAGE_H
#define CPA_ANALYSIS_TOP_TOP_PAGE_H

#include "analysis/util/table.h"
#include "analysis/top/top.h"

/* Add a line, cut to the screen's width, and free @text. If the screen is full, only free it. */
void cpa_top_put(struct cpa_top_screen *screen, enum cpa_top_style style, char *text);

/* Number of free lines if the last @below are kept free. */
size_t cpa_top_room(const struct cpa_top_screen *screen, size_t below);

/*
 * A table written as for a report, whose lines then go to the screen, except for its last @below
 * lines. @selected: row at the cursor, from 0.
 */
struct cpa_top_sheet {
	struct cpa_page page;
	char *text;
	size_t size;
	size_t row; /* row of the next line; SIZE_MAX: the head of the table */
};

void cpa_top_sheet_begin(struct cpa_top_sheet *sheet, const struct cpa_top_screen *screen);
void cpa_top_sheet_end(struct cpa_top_sheet *sheet, struct cpa_top_screen *screen, size_t selected,
		       size_t below);

/* Write the details of top->detail, leaving the last @below lines free. In top_detail.c. */
void cpa_top_put_detail(const struct cpa_top *top, struct cpa_top_screen *screen, size_t below);

#endif
