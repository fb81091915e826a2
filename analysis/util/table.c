/* SPDX-License-Identifier: MIT */
/* analysis/util/table.c - lines, columns and colours of the text report */
#include "analysis/util/table.h"
#include "analysis/util/format.h"

#include <libiberty/libiberty.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/util/printable.h"

#define GAP	 2  /* columns between two columns of the table */
#define NAME_MIN 6  /* smallest width of a name */
#define NAME_FIT 20 /* names of that width can be told apart */

#define TO	   " -> " /* between the ends of a stream */
#define ARROW	   " <- " /* between the names of a chain, */
#define MOST_NAMES 17	  /* so many of which are cut for themselves */

/* When both are cut, a remark is this many columns narrower than a name. */
#define REMARK_LESS 5

void cpa_page_put(const struct cpa_page *page, enum cpa_style style, const char *text)
{
	static const char *const codes[] = {
		[CPA_STRONG] = "\033[1m",
		[CPA_FAINT] = "\033[2m",
		[CPA_ALARM] = "\033[1;31m",
	};

	if (page->color && style != CPA_PLAIN)
		fprintf(page->out, "%s%s\033[0m", codes[style], text);
	else
		fputs(text, page->out);
}

void cpa_page_paragraph(const struct cpa_page *page, enum cpa_style style, size_t indent,
			const char *text)
{
	size_t room = page->width;

	for (;;) {
		size_t bytes = cpa_printable_bytes(text, room), end = bytes;
		char *line;

		if (text[bytes]) {
			while (end > 0 && text[end] != ' ')
				end--;
			if (end == 0)
				end = bytes; /* a single word longer than the line */
		}
		line = xstrndup(text, end);
		cpa_page_put(page, style, line);
		fputc('\n', page->out);
		free(line);
		text += end;
		while (*text == ' ')
			text++;
		if (!*text)
			return;
		fprintf(page->out, "%*s", (int)indent, "");
		room = page->width > indent + NAME_MIN ? page->width - indent : NAME_MIN;
	}
}

void cpa_page_heading(const struct cpa_page *page, const char *heading)
{
	fputc('\n', page->out);
	cpa_page_paragraph(page, CPA_STRONG, 2, heading);
}

void cpa_page_foot(const struct cpa_page *page, size_t count, size_t top, const char *note)
{
	char *text;

	if (count <= top && !note)
		return;
	if (count <= top)
		text = xstrdup(note);
	else
		text = cpa_format_text("%zu more (--top %zu shows all).%s%s", count - top, count,
				       note ? " " : "", note ? note : "");
	cpa_page_paragraph(page, CPA_FAINT, 0, text);
	free(text);
}

void cpa_table_column(struct cpa_table_text *table, const char *head, bool name)
{
	table->name[table->columns] = name;
	table->head[table->columns++] = head;
}

void cpa_table_remark(struct cpa_table_text *table, const char *head)
{
	table->remark[table->columns] = true;
	cpa_table_column(table, head, true);
}

void cpa_table_chains(struct cpa_table_text *table)
{
	table->chain[table->columns - 1] = true;
}

void cpa_table_spare(struct cpa_table_text *table, const char *head)
{
	table->spare[table->columns] = true;
	cpa_table_column(table, head, false);
}

void cpa_table_scarce(struct cpa_table_text *table)
{
	table->scarce[table->columns - 1] = true;
}

void cpa_table_row(struct cpa_table_text *table, const char *const *cells)
{
	size_t first = table->rows++ * table->columns;

	table->cell = xrealloc(table->cell, (first + table->columns) * sizeof(*table->cell));
	for (size_t i = 0; i < table->columns; i++)
		table->cell[first + i] = xstrdup(cells[i]);
}

/* The widest column that may be cut; SIZE_MAX if there is none. */
static size_t find_widest(const struct cpa_table_text *table, const size_t *widths)
{
	size_t widest = SIZE_MAX, most = 0;

	for (size_t c = 0; c < table->columns; c++) {
		size_t width = table->remark[c] ? widths[c] + REMARK_LESS : widths[c];

		if (table->name[c] && widths[c] > NAME_MIN && width >= most) {
			widest = c;
			most = width;
		}
	}
	return widest;
}

/* The columns of the first name of the chain @text. */
static size_t first_columns(const char *text)
{
	const char *rest = strstr(text, ARROW);
	char *first = rest ? xstrndup(text, (size_t)(rest - text)) : xstrdup(text);
	size_t columns = cpa_printable_columns(first);

	free(first);
	return columns;
}

/* The columns that the content of column @c takes. @first: only the first names of chains. */
static size_t columns_of(const struct cpa_table_text *table, size_t c, bool first)
{
	size_t most = cpa_printable_columns(table->head[c]);

	for (size_t r = 0; r < table->rows; r++) {
		const char *text = table->cell[r * table->columns + c];
		size_t width = first ? first_columns(text) : cpa_printable_columns(text);

		most = width > most ? width : most;
	}
	return most;
}

/* Whether names of @widths must get shorter than NAME_FIT for a line of @total columns to fit into @room. */
static bool are_short(const struct cpa_table_text *table, const size_t *widths, size_t total,
		      size_t room)
{
	for (size_t c = 0; c < table->columns; c++) {
		size_t least = table->remark[c] ? NAME_FIT - REMARK_LESS : NAME_FIT;

		if (table->name[c] && widths[c] > least)
			total -= widths[c] - least;
	}
	return total > room;
}

/* Leave out column @c, of a line of *@total columns. */
static void leave_out(size_t *widths, size_t c, size_t *total)
{
	*total -= widths[c] + GAP;
	widths[c] = 0;
}

/*
 * Choose widths by content; then, until the line fits, break chains behind their first names, leave out spare
 * columns, cut the widest name, and before names get too short leave out scarce columns.
 */
static void find_widths(const struct cpa_table_text *table, size_t room, size_t *widths)
{
	size_t total = 0, widest;

	for (size_t c = 0; c < table->columns; c++) {
		widths[c] = columns_of(table, c, false);
		total += widths[c] + (c ? GAP : 0);
	}
	for (size_t c = 0; c < table->columns && total > room; c++) {
		if (!table->chain[c])
			continue;
		total -= widths[c];
		widths[c] = columns_of(table, c, true);
		if (total + widths[c] < room)
			widths[c] = room - total;
		total += widths[c];
	}
	for (size_t c = table->columns; c-- > 0 && total > room;) {
		if (table->spare[c])
			leave_out(widths, c, &total);
	}
	for (size_t c = table->columns; c-- > 0 && are_short(table, widths, total, room);) {
		if (table->scarce[c])
			leave_out(widths, c, &total);
	}
	for (; total > room; total--) {
		widest = find_widest(table, widths);
		if (widest == SIZE_MAX)
			return;
		widths[widest]--;
	}
}

/*
 * The end of @text that distinguishes it from similar texts: "+0x11b50" of an address, ":123" of a
 * line; "" if there is none.
 */
static const char *tail(const char *text)
{
	const char *plus = strrchr(text, '+'), *colon = strrchr(text, ':');

	if (plus && plus[1] == '0' && plus[2] == 'x' &&
	    strspn(plus + 3, "0123456789abcdef") == strlen(plus + 3))
		return plus;
	if (colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1))
		return colon;
	return "";
}

/* The last @columns characters of @text. */
static const char *last(const char *text, size_t columns)
{
	return text + cpa_printable_bytes(text, cpa_printable_columns(text) - columns);
}

/* @text cut to @width columns, with ".." in place of its middle: both ends tell names apart. */
static char *cut(const char *text, size_t width)
{
	size_t end = strlen(tail(text)), half = (width - 2) / 2;

	/* The beginning must keep some characters as well. */
	if (end < half || end + NAME_MIN > width)
		end = half;
	return cpa_format_text("%.*s..%s", (int)cpa_printable_bytes(text, width - 2 - end), text,
			       last(text, end));
}

/* Split the chain @text in place into its names. Return how many there are, MOST_NAMES at most. */
static size_t split(char *text, const char *names[])
{
	size_t n = 0;

	for (char *next; text && n < MOST_NAMES; text = next) {
		next = n + 1 < MOST_NAMES ? strstr(text, ARROW) : NULL;
		if (next) {
			*next = '\0';
			next += strlen(ARROW);
		}
		names[n++] = text;
	}
	return n;
}

/* The columns that each of the @n names gets of @room: shorter ones leave theirs to longer ones. */
static size_t share_of(const char *const names[], size_t n, size_t room)
{
	for (size_t share = room; share > NAME_MIN; share--) {
		size_t sum = 0;

		for (size_t i = 0; i < n; i++) {
			size_t columns = cpa_printable_columns(names[i]);

			sum += columns < share ? columns : share;
		}
		if (sum <= room)
			return share;
	}
	return NAME_MIN;
}

/* As cut(), for a chain: each name keeps both ends, if there is room for all. */
static char *cut_chain(const char *text, size_t width)
{
	const char *names[MOST_NAMES];
	char *copy = xstrdup(text), *chain = xstrdup(""), *longer;
	size_t n = split(copy, names), arrows = (n - 1) * strlen(ARROW);
	size_t share = share_of(names, n, width > arrows ? width - arrows : 0);

	for (size_t i = 0; i < n; i++) {
		bool fits = cpa_printable_columns(names[i]) <= share;
		char *name = fits ? xstrdup(names[i]) : cut(names[i], share);

		longer = cpa_format_text("%s%s%s", chain, i ? ARROW : "", name);
		free(name);
		free(chain);
		chain = longer;
	}
	free(copy);
	if (cpa_printable_columns(chain) > width) {
		free(chain);
		chain = cut(text, width);
	}
	return chain;
}

/* As cut(), for the ends of a stream: each keeps both of its ends, if there is room. */
static char *cut_ends(const char *text, const char *to, size_t width)
{
	char *from = xstrndup(text, (size_t)(to - text)), *first, *second, *both;
	const char *names[] = { from, to + strlen(TO) };
	size_t share = share_of(names, 2, width - strlen(TO));

	first = cpa_printable_columns(from) > share ? cut(from, share) : xstrdup(from);
	second = cpa_printable_columns(names[1]) > share ? cut(names[1], share) : xstrdup(names[1]);
	both = cpa_format_text("%s%s%s", first, TO, second);
	free(second);
	free(first);
	free(from);
	return both;
}

/* @text in @width columns: filled with blanks, or cut. The caller frees it. */
static char *fit(const char *text, size_t width, bool left, bool end)
{
	size_t columns = cpa_printable_columns(text);
	int fill = columns < width ? (int)(width - columns) : 0;
	const char *to = strstr(text, TO);

	if (columns > width)
		return to && width >= 2 * NAME_MIN + strlen(TO) ? cut_ends(text, to, width) :
								  cut(text, width);
	if (left)
		return cpa_format_text("%s%*s", text, end ? 0 : fill, "");
	return cpa_format_text("%*s%s", fill, "", text);
}

/* Where the chain in @cell breaks in @width columns: its arrow; NULL: it has room, or is no chain. */
static const char *break_of(const char *cell, size_t width)
{
	return cpa_printable_columns(cell) > width ? strstr(cell, ARROW) : NULL;
}

/* Write @chain, the rest of a chain from its arrow on, on a line of its own from column @from on. */
static void write_rest(const struct cpa_page *page, enum cpa_style style, size_t from,
		       const char *chain)
{
	size_t room = page->width > from + NAME_MIN ? page->width - from : NAME_MIN;
	const char *text = chain + 1; /* without the blank */
	char *cut_to = cpa_printable_columns(text) > room ? cut_chain(text, room) : xstrdup(text);

	fprintf(page->out, "%*s", (int)from, "");
	cpa_page_put(page, style, cut_to);
	fputc('\n', page->out);
	free(cut_to);
}

static void write_row(const struct cpa_table_text *table, const struct cpa_page *page,
		      const size_t *widths, const char *const *cells, enum cpa_style style)
{
	const char *rest = NULL;
	size_t column = 0, from = 0;

	for (size_t c = 0; c < table->columns; c++) {
		const char *arrow = table->chain[c] ? break_of(cells[c], widths[c]) : NULL;
		char *name, *text;

		if ((table->spare[c] || table->scarce[c]) && !widths[c])
			continue;
		column += c ? GAP : 0;
		if (arrow) {
			rest = arrow;
			from = column;
		}
		name = arrow ? xstrndup(cells[c], (size_t)(arrow - cells[c])) : xstrdup(cells[c]);
		text = fit(name, widths[c], table->name[c], c + 1 == table->columns);
		fprintf(page->out, "%*s", c ? GAP : 0, "");
		cpa_page_put(page, style, text);
		column += widths[c];
		free(text);
		free(name);
	}
	fputc('\n', page->out);
	if (rest)
		write_rest(page, style, from, rest);
}

void cpa_table_end(struct cpa_table_text *table, const struct cpa_page *page)
{
	size_t widths[CPA_TABLE_COLUMNS];

	find_widths(table, page->width, widths);
	write_row(table, page, widths, table->head, CPA_FAINT);
	for (size_t r = 0; r < table->rows; r++)
		write_row(table, page, widths,
			  (const char *const *)&table->cell[r * table->columns], CPA_PLAIN);
	for (size_t i = 0; i < table->rows * table->columns; i++)
		free(table->cell[i]);
	free(table->cell);
}
