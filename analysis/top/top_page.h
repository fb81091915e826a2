/* SPDX-License-Identifier: MIT */
/* analysis/top/top_page.h - lines of the screen, from the parts that fill it */
#ifndef CPA_ANALYSIS_TOP_TOP_PAGE_H
#define CPA_ANALYSIS_TOP_TOP_PAGE_H

#include "analysis/util/table.h"
#include "analysis/top/top.h"

/* Add a line, cut to the screen, and free @text. Nothing happens when the screen is full. */
void cpa_top_put(struct cpa_top_screen *screen, enum cpa_top_style style, char *text);

/* Lines that are still free when @below are kept. */
size_t cpa_top_room(const struct cpa_top_screen *screen, size_t below);

/*
 * A table that is written as for a report, and whose lines then go to the screen, the last @below
 * lines of it excepted. @selected: its row at the cursor, from 0.
 */
struct cpa_top_sheet {
	struct cpa_page page;
	char *text;
	size_t size;
	size_t row; /* of the next line; SIZE_MAX: the head of a table, in front of row 0 */
};

void cpa_top_sheet_begin(struct cpa_top_sheet *sheet, const struct cpa_top_screen *screen);
void cpa_top_sheet_end(struct cpa_top_sheet *sheet, struct cpa_top_screen *screen, size_t selected,
		       size_t below);

/* top_detail.c: all that is known of top->detail, above @below lines. */
void cpa_top_put_detail(const struct cpa_top *top, struct cpa_top_screen *screen, size_t below);

#endif
