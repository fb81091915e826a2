/* SPDX-License-Identifier: MIT */
/*
 * analysis/util/table.h - lines, columns and colours of the text report
 *
 * Widths are in columns, one for each character; all text must be printable. Figures are aligned to
 * the right, names to the left; name columns share the rest of the line.
 */
#ifndef CPA_ANALYSIS_UTIL_TABLE_H
#define CPA_ANALYSIS_UTIL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define CPA_TABLE_COLUMNS 12

enum cpa_style { CPA_PLAIN, CPA_STRONG, CPA_FAINT, CPA_ALARM };

struct cpa_page {
	FILE *out;
	size_t width;
	bool color;
	bool unicode; /* the terminal can show UTF-8 */
};

struct cpa_table_text {
	size_t columns, rows;
	bool name[CPA_TABLE_COLUMNS]; /* true for columns of names */
	bool remark[CPA_TABLE_COLUMNS];
	bool chain[CPA_TABLE_COLUMNS]; /* of names such as "memcmp <- compare <- main" */
	bool spare[CPA_TABLE_COLUMNS], scarce[CPA_TABLE_COLUMNS];
	const char *head[CPA_TABLE_COLUMNS];
	char **cell; /* [rows * columns] */
};

/* Write @text in @style, without a newline. */
void cpa_page_put(const struct cpa_page *page, enum cpa_style style, const char *text);

/*
 * Write @text as a paragraph, wrapped at blanks; all lines but the first are indented by @indent.
 */
void cpa_page_paragraph(const struct cpa_page *page, enum cpa_style style, size_t indent,
			const char *text);

/* Write @heading after an empty line, as a paragraph. */
void cpa_page_heading(const struct cpa_page *page, const char *heading);

/*
 * Write how many of the table's @count rows are left out when @top are shown, then @note, if not
 * NULL.
 */
void cpa_page_foot(const struct cpa_page *page, size_t count, size_t top, const char *note);

/* Add a column; @name: a column of names. @head must outlive @table. */
void cpa_table_column(struct cpa_table_text *table, const char *head, bool name);

/* Add a column of names that locate the names before it; it is cut a little more than those. */
void cpa_table_remark(struct cpa_table_text *table, const char *head);

/*
 * The last column has chains of names, "memcmp <- compare". Where lines would be too long, a chain
 * goes on in a line of its own behind its first name, each other name cut for itself. One column of
 * a table at most.
 */
void cpa_table_chains(struct cpa_table_text *table);

/*
 * Add a column of figures that is left out where names would be cut otherwise. Not the first one.
 */
void cpa_table_spare(struct cpa_table_text *table, const char *head);

/*
 * The last column, of figures, is left out where names would get too short to tell them apart
 * otherwise.
 */
void cpa_table_scarce(struct cpa_table_text *table);

/* Add a row with copies of @cells, one for each column. */
void cpa_table_row(struct cpa_table_text *table, const char *const *cells);

/* Write the table and free its memory. */
void cpa_table_end(struct cpa_table_text *table, const struct cpa_page *page);

#endif
