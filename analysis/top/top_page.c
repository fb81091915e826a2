/* SPDX-License-Identifier: MIT */
/* analysis/top/top_page.c - the screen: heading, one view, and the keys */
#include "analysis/top/top_page.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/render/parts_text.h"
#include "analysis/util/format.h"
#include "analysis/util/printable.h"
#include "analysis/top/top_views.h"
#include "analysis/verdict/rivals.h"

#define STALE_S 2 /* without events for so long, the figures are called old */

static const char *const help[] = {
	"1 to 6, c l u t m p    components, locks, queues, threads, marks, streams; Tab",
	"arrows, PgUp PgDn      move the cursor; left, right: another column sorts",
	"s r                    sort by the next column; reverse the order",
	"/                      show rows that contain a text; Esc: all rows again",
	"Enter                  details of the row at the cursor; Esc: back",
	"space                  freeze, and go on",
	"w                      write a report of what is shown: cpa.top.PID.TIME.txt",
	"o                      write it as a page, cpa.top.PID.TIME.html, and open that",
	"q, Ctrl-C              quit",
	"",
	"saves: how much shorter the critical path would be if this cost nothing.",
	"change, lately, /s, CPU now: in the last interval. path, wall: shares so far.",
	"+-: of a run in windows; in 95 % of cases the whole run's is no farther off.",
	"Threads are shown as of their last event; later work is not yet in a path.",
	"running, blocked: from the kernel. waiting: the last event began a wait.",
};

void cpa_top_put(struct cpa_top_screen *screen, enum cpa_top_style style, char *text)
{
	if (screen->used < screen->lines) {
		text[cpa_printable_bytes(text, screen->columns)] = '\0';
		screen->line[screen->used++] = (struct cpa_top_line){ text, style };
	} else {
		free(text);
	}
}

size_t cpa_top_room(const struct cpa_top_screen *screen, size_t below)
{
	size_t used = screen->used + below;

	return used < screen->lines ? screen->lines - used : 0;
}

void cpa_top_sheet_begin(struct cpa_top_sheet *sheet, const struct cpa_top_screen *screen)
{
	*sheet = (struct cpa_top_sheet){ .page.width = screen->columns, .row = SIZE_MAX };
	sheet->page.out = open_memstream(&sheet->text, &sheet->size);
	if (!sheet->page.out)
		xmalloc_failed(1);
}

void cpa_top_sheet_end(struct cpa_top_sheet *sheet, struct cpa_top_screen *screen, size_t selected,
		       size_t below)
{
	const char *line, *end;

	if (fclose(sheet->page.out))
		xmalloc_failed(1);
	for (line = sheet->text; cpa_top_room(screen, below) && (end = strchr(line, '\n'));
	     line = end + 1, sheet->row++)
		cpa_top_put(screen,
			    sheet->row == SIZE_MAX ? CPA_TOP_HEAD :
			    sheet->row == selected ? CPA_TOP_SELECTED :
						     CPA_TOP_PLAIN,
			    xstrndup(line, (size_t)(end - line)));
	free(sheet->text);
}

static const char *state_word(const struct cpa_top *top)
{
	static const char *const words[] = {
		[CPA_TOP_RUNNING] = "running",
		[CPA_TOP_FINISHED] = "finished",
		[CPA_TOP_EXECED] = "replaced by exec",
		[CPA_TOP_KILLED] = "gone (killed, or ended by a direct system call)",
		[CPA_TOP_COPIED] = "copied while it ran",
		[CPA_TOP_UNKNOWN] = "did not finish, or runs elsewhere",
		[CPA_TOP_LOST] = "its file is gone or damaged",
	};

	return words[top->now.state];
}

static void put_program(const struct cpa_top *top, struct cpa_top_screen *screen)
{
	const struct cpa_program_figures *program = &top->now.profile->program;
	double still = top->now.run_s - program->wall_s;
	bool parts = program->earlier_parts + top->now.profile->parts > 0;
	char *text, *note = NULL, *of = NULL;

	if (parts)
		of = cpa_format_text(" of %s", cpa_format_seconds(program->run_s).text);
	if (top->now.state == CPA_TOP_RUNNING && still > STALE_S)
		note = cpa_format_text("; last event %s ago", cpa_format_seconds(still).text);
	text = cpa_format_text("%s%s, pid %u: %s, %s%s, %zu thread%s, %u core%s%s",
			       top->frozen ? "FROZEN " : "", program->name, top->now.pid,
			       state_word(top), cpa_format_seconds(top->now.run_s).text,
			       of ? of : "", program->threads, program->threads == 1 ? "" : "s",
			       program->cores, program->cores == 1 ? "" : "s", note ? note : "");
	free(note);
	free(of);
	cpa_top_put(screen, CPA_TOP_STRONG, text);
}

/* "2.38 +- 0.11"; without the margin if that is not known. */
static char *with_margin(double value, double margin, struct cpa_figure (*format)(double))
{
	return cpa_format_text("%8s%s%s", format(value).text, isnan(margin) ? "" : " +- ",
			       cpa_text_margin(margin, format).text);
}

/* "8.41 s  +710 ms in the last 1.00 s" */
static char *describe_length(const struct cpa_top *top, const char *name, double now, double margin,
			     double before)
{
	char *figure = with_margin(now, margin, cpa_format_seconds), *lately = NULL, *text;

	if (top->before.profile)
		lately = cpa_format_text("  +%s in the last %s",
					 cpa_format_seconds(now - before).text,
					 cpa_format_seconds(cpa_top_interval(top)).text);
	text = cpa_format_text("%-15s%s%s", name, figure, lately ? lately : "");
	free(lately);
	free(figure);
	return text;
}

/* "process 73%, external 5%, run queue 18%, hand-off 1%, probe 3%" */
static char *describe_segments(const char *name, const double *now, const double *before)
{
	static const char *const words[CPA_TIME_KINDS] = {
		[CPA_TIME_PROCESS] = "process",	   [CPA_TIME_EXTERNAL] = "external",
		[CPA_TIME_RUNQUEUE] = "run queue", [CPA_TIME_HANDOFF] = "hand-off",
		[CPA_TIME_PROBE] = "probe",
	};
	double part[CPA_TIME_KINDS], sum = 0;
	char *text = cpa_format_text("  %-13s", name);

	for (unsigned i = 0; i < CPA_TIME_KINDS; i++) {
		part[i] = now[i] - (before ? before[i] : 0);
		/*
		 * The observed path may belong to another thread in each moment, so parts can
		 * shrink.
		 */
		part[i] = part[i] > 0 ? part[i] : 0;
		sum += part[i];
	}
	for (unsigned i = 0; i < CPA_TIME_KINDS; i++) {
		char *longer = sum > 0 ? cpa_format_text("%s%s%s %.0f%%", text, i ? ", " : "",
							 words[i], 100 * part[i] / sum) :
					 cpa_format_text("%s%s%s -", text, i ? ", " : "", words[i]);

		free(text);
		text = longer;
	}
	return text;
}

static double cpu_now(const struct cpa_top *top)
{
	double sum = 0;

	for (size_t i = 0; i < top->now.profile->threads; i++) {
		double cpu = cpa_top_cpu(top, i);

		sum += cpu > 0 ? cpu : 0;
	}
	return sum;
}

static char *describe_parallelism(const struct cpa_top *top)
{
	const struct cpa_program_figures *program = &top->now.profile->program;
	char *now =
		with_margin(program->parallelism, program->parallelism_margin, cpa_format_ratio);
	char *most = with_margin(program->max_parallelism, program->max_parallelism_margin,
				 cpa_format_ratio);
	double interval = cpa_top_interval(top);
	char *lately = NULL, *text;

	if (interval > 0)
		lately = cpa_format_text("; lately %s busy",
					 cpa_format_ratio(cpu_now(top) / interval).text);
	text = cpa_format_text("%-15s%s  %s with unlimited processors%s", "parallelism", now,
			       most + strspn(most, " "), lately ? lately : "");
	free(lately);
	free(most);
	free(now);
	return text;
}

/* What the windows of a budget tell, and what they do not. */
static void put_sample(const struct cpa_top *top, struct cpa_top_screen *screen)
{
	const struct cpa_program_figures *program = &top->now.profile->program;
	char *rivals = cpa_rivals_sentence(top->now.profile);
	struct cpa_top_sheet sheet;

	if (program->windows)
		cpa_top_put(screen, CPA_TOP_PLAIN,
			    cpa_format_text("%-15s%8llu  %s", "windows",
					    (unsigned long long)program->windows,
					    program->batches ? "a sample of the run" :
							       "too few for margins"));
	if (rivals) {
		cpa_top_sheet_begin(&sheet, screen);
		sheet.row = 0;
		cpa_page_paragraph(&sheet.page, CPA_PLAIN, 2, rivals);
		cpa_top_sheet_end(&sheet, screen, SIZE_MAX, 1);
	}
	free(rivals);
}

static void put_paths(const struct cpa_top *top, struct cpa_top_screen *screen)
{
	static const struct cpa_program_figures none;
	const struct cpa_program_figures *now = &top->now.profile->program;
	const struct cpa_program_figures *before =
		top->before.profile ? &top->before.profile->program : &none;

	cpa_top_put(screen, CPA_TOP_PLAIN,
		    describe_length(top, "critical path", now->critical_path_s,
				    now->critical_path_margin_s, before->critical_path_s));
	cpa_top_put(screen, CPA_TOP_PLAIN,
		    describe_length(top, "observed path", now->observed_path_s, NAN,
				    before->observed_path_s));
	cpa_top_put(screen, CPA_TOP_PLAIN, describe_segments("so far", now->segment_s, NULL));
	if (top->before.profile)
		cpa_top_put(screen, CPA_TOP_PLAIN,
			    describe_segments("lately", now->segment_s, before->segment_s));
	cpa_top_put(screen, CPA_TOP_PLAIN, describe_parallelism(top));
	put_sample(top, screen);
}

/* "[1 components] 2 locks  3 queues  4 threads  5 marks  6 streams  12 by saves, /queue" */
static void put_tabs(const struct cpa_top *top, struct cpa_top_screen *screen, size_t rows)
{
	const struct cpa_top_order *order = &top->order[top->view];
	char *text = xstrdup(""), *longer;

	for (unsigned view = 0; view < CPA_TOP_VIEWS; view++) {
		bool here = view == top->view;

		longer = cpa_format_text("%s%s%u %s%s", text, here ? "[" : " ", view + 1,
					 cpa_top_table(view)->name, here ? "]" : " ");
		free(text);
		text = longer;
	}
	longer = cpa_format_text("%s  %zu by %s%s%s%s", text, rows,
				 cpa_top_table(top->view)->column[order->column].head,
				 order->reversed ? ", reversed" : "", top->filter[0] ? ", /" : "",
				 top->filter);
	free(text);
	cpa_top_put(screen, CPA_TOP_STRONG, longer);
}

/* Keep the cursor on a row and that row among the @room visible ones. */
static void keep_cursor(struct cpa_top *top, const size_t *rows, size_t count, size_t room)
{
	const struct cpa_top_table *table = cpa_top_table(top->view);

	if (top->selected >= count)
		top->selected = count ? count - 1 : 0;
	if (top->first > top->selected)
		top->first = top->selected;
	if (room && top->selected - top->first >= room)
		top->first = top->selected - room + 1;
	if (room && top->first + room > count)
		top->first = count > room ? count - room : 0;
	top->at = (struct cpa_top_key){ 0 };
	if (count)
		top->at = table->key(top, rows[top->selected]);
}

static void put_head(const struct cpa_top *top, struct cpa_table_text *text,
		     const struct cpa_top_column *column)
{
	if (column->remark)
		cpa_table_remark(text, column->head);
	else
		cpa_table_column(text, column->head, column->unit == CPA_UNIT_TEXT);
	if (column->scarce)
		cpa_table_scarce(text);
	if (cpa_top_has_margin(top, column))
		cpa_table_column(text, "+-", false);
}

static void put_row(const struct cpa_top *top, struct cpa_table_text *text,
		    const struct cpa_top_table *table, size_t row)
{
	char *cell[CPA_TABLE_COLUMNS];
	size_t cells = 0;

	for (size_t c = 0; c < table->columns; c++) {
		cell[cells++] = cpa_top_cell(top, &table->column[c], row);
		if (cpa_top_has_margin(top, &table->column[c]))
			cell[cells++] = cpa_top_margin(top, &table->column[c], row);
	}
	cpa_table_row(text, (const char *const *)cell);
	while (cells > 0)
		free(cell[--cells]);
}

static void put_rows(const struct cpa_top *top, struct cpa_top_screen *screen, const size_t *rows,
		     size_t count)
{
	const struct cpa_top_table *table = cpa_top_table(top->view);
	struct cpa_table_text text = { 0 };
	struct cpa_top_sheet sheet;

	for (size_t c = 0; c < table->columns; c++)
		put_head(top, &text, &table->column[c]);
	for (size_t i = 0; i < count; i++)
		put_row(top, &text, table, rows[i]);
	cpa_top_sheet_begin(&sheet, screen);
	cpa_table_end(&text, &sheet.page);
	cpa_top_sheet_end(&sheet, screen, top->selected - top->first, 1);
}

static void put_view(struct cpa_top *top, struct cpa_top_screen *screen)
{
	size_t count, room;
	size_t *rows = cpa_top_rows(top, &count);

	put_tabs(top, screen, count);
	/* Leave room for the table's head and the keys. */
	room = cpa_top_room(screen, 2);
	keep_cursor(top, rows, count, room);
	put_rows(top, screen, rows + top->first,
		 count - top->first < room ? count - top->first : room);
	free(rows);
}

static void put_help(struct cpa_top_screen *screen)
{
	for (size_t i = 0; i < ARRAY_SIZE(help) && cpa_top_room(screen, 1); i++)
		cpa_top_put(screen, CPA_TOP_PLAIN, xstrdup(help[i]));
}

/* Write the keys in the last line, whatever was there. */
static void put_foot(const struct cpa_top *top, struct cpa_top_screen *screen)
{
	char *text;

	while (cpa_top_room(screen, 1))
		cpa_top_put(screen, CPA_TOP_PLAIN, xstrdup(""));
	if (top->typing)
		text = cpa_format_text("/%s_  Enter: done, Esc: show all", top->filter);
	else if (top->message)
		text = xstrdup(top->message);
	else if (top->help || top->detail.id)
		text = xstrdup("Esc back  space freeze  w report  o page  q quit");
	else
		text = xstrdup("1-6 view s sort r reverse / filter Enter details space freeze "
			       "w report ? help q");
	cpa_top_put(screen, CPA_TOP_FAINT, text);
}

struct cpa_top_screen cpa_top_draw(struct cpa_top *top, size_t columns, size_t lines)
{
	struct cpa_top_screen screen = { .columns = columns, .lines = lines };

	screen.line = xcalloc(lines + 1, sizeof(*screen.line));
	put_program(top, &screen);
	put_paths(top, &screen);
	if (top->help)
		put_help(&screen);
	else if (top->detail.id)
		cpa_top_put_detail(top, &screen, 1);
	else
		put_view(top, &screen);
	/* On the smallest screens the keys are left out. */
	put_foot(top, &screen);
	return screen;
}

void cpa_top_screen_free(struct cpa_top_screen *screen)
{
	for (size_t i = 0; i < screen->used; i++)
		free(screen->line[i].text);
	free(screen->line);
}
