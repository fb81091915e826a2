/* SPDX-License-Identifier: MIT */
#include "analysis/render/annotate_text.h"

#include <inttypes.h>
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/derived/find.h"
#include "analysis/derived/function.h"
#include "analysis/derived/lines.h"
#include "analysis/util/format.h"
#include "analysis/util/printable.h"
#include "analysis/profile/components.h"

#define AROUND 2u /* lines before and after one with time */

/* What is shown: a function, or one that is inlined in it, and what it has. */
struct shown {
	const struct cpa_page *page;
	const struct cpa_profile *profile;
	char *name;
	double path_s, cpu_s;
};

/*
 * The figures of a line: shares of the function's path and CPU time, and time of the path in calls.
 */
struct cells {
	struct cpa_figure path, cpu, calls;
};

/* Empty where nothing is. */
static struct cells cells_of(const struct shown *shown, const struct cpa_line_figures *line)
{
	struct cells cells = { { "" }, { "" }, { "" } };

	if (line->stacks || line->cpu_s > 0) {
		cells.path = cpa_format_percent(line->path_s, shown->path_s);
		cells.cpu = cpa_format_percent(line->cpu_s, shown->cpu_s);
	}
	if (line->calls_s > 0)
		cells.calls = cpa_format_seconds(line->calls_s);
	return cells;
}

/* Open @file if it is a regular file. Store whether it was changed after the run began. */
static FILE *open_source(const char *file, const struct cpa_profile *profile, bool *changed)
{
	FILE *source = fopen(file, "re");
	struct stat about;

	if (source && (fstat(fileno(source), &about) || !S_ISREG(about.st_mode))) {
		fclose(source);
		return NULL;
	}
	*changed = source && profile->program.started_at &&
		   about.st_mtime > profile->program.started_at;
	return source;
}

/* " 70.2%  68.1%  1.20 s    25  text": a line of source; @line: NULL if it has no time. */
static void put_row(const struct shown *shown, const struct cpa_line_figures *line, uint64_t number,
		    const char *text)
{
	const struct cpa_page *page = shown->page;
	struct cells cells = { { "" }, { "" }, { "" } };
	char *row, *source = cpa_printable(text, SIZE_MAX);

	if (line)
		cells = cells_of(shown, line);
	row = cpa_format_text("%6s %6s %8s %6" PRIu64 "  %s", cells.path.text, cells.cpu.text,
			      cells.calls.text, number, source);
	row[cpa_printable_bytes(row, page->width)] = '\0';
	cpa_page_put(page, line && line->path_s > 0 ? CPA_STRONG : CPA_PLAIN, row);
	fputc('\n', page->out);
	free(row);
	free(source);
}

/* A line of text without its end, with blanks for tabs. */
static void tidy(char *text)
{
	text[strcspn(text, "\r\n")] = '\0';
	for (; *text; text++)
		if (*text == '\t')
			*text = ' ';
}

/* Write the lines of @source around the @count lines at @line, which are of its file. */
static void put_source(const struct shown *shown, FILE *source, const struct cpa_line_figures *line,
		       size_t count)
{
	size_t room = 0, next = 0;
	char *text = NULL;
	uint64_t last = 0;

	for (uint64_t number = 1; getline(&text, &room, source) >= 0; number++) {
		bool more = next < count, after = next && number <= line[next - 1].line + AROUND;
		const struct cpa_line_figures *own =
			more && number == line[next].line ? &line[next] : NULL;

		if (!more && !after)
			break;
		if (!after && number + AROUND < line[next].line)
			continue;
		if (last && last + 1 != number)
			fputs("                    ...\n", shown->page->out);
		tidy(text);
		put_row(shown, own, number, text);
		last = number;
		next += own != NULL;
	}
	for (; next < count; next++) /* the file is shorter than it was */
		put_row(shown, &line[next], line[next].line, "");
	free(text);
}

static void put_file(const struct shown *shown, const struct cpa_line_figures *line, size_t count)
{
	bool changed = false;
	FILE *source = open_source(line->file, shown->profile, &changed);
	char *text = cpa_format_text("%s%s%s%s", line->file, line->inlined ? ": inlined " : "",
				     line->inlined ? line->inlined : "",
				     !source ? " (cannot be read)" :
				     changed ? " (changed since the run: the lines may be others)" :
					       "");

	cpa_page_put(shown->page, CPA_FAINT, text);
	fputc('\n', shown->page->out);
	if (source) {
		put_source(shown, source, line, count);
		fclose(source);
	} else {
		for (size_t i = 0; i < count; i++)
			put_row(shown, &line[i], line[i].line, "");
	}
	free(text);
}

/* Code without lines: by instruction. */
static void put_instruction(const struct shown *shown, const struct cpa_line_figures *line)
{
	char *text = line->at ? cpa_format_text("%#" PRIx64, line->at) : xstrdup("(not known)");
	struct cells cells = cells_of(shown, line);

	fprintf(shown->page->out, "%6s %6s %8s  %s\n", cells.path.text, cells.cpu.text,
		cells.calls.text, text);
	free(text);
}

/* Whether two lines of a function are of one that is inlined in it, or of none. */
static bool is_same_inlined(const struct cpa_line_figures *x, const struct cpa_line_figures *y)
{
	return !x->inlined == !y->inlined && (!x->inlined || !strcmp(x->inlined, y->inlined));
}

static bool is_same_part(const struct cpa_line_figures *x, const struct cpa_line_figures *y)
{
	return x->file && y->file && !strcmp(x->file, y->file) && is_same_inlined(x, y);
}

/* Write the @count lines of what is shown. */
static void put_lines(const struct shown *shown, const struct cpa_line_figures *line, size_t count)
{
	double path_s = shown->profile->program.critical_path_s;
	uint64_t stacks = 0;
	size_t end;
	char *text;

	for (size_t i = 0; i < count; i++)
		stacks += line[i].stacks;
	text = cpa_format_text("%s has %s of the critical path, %s, by %" PRIu64
			       " stacks on it; %s of CPU time",
			       shown->name, cpa_format_percent(shown->path_s, path_s).text,
			       cpa_format_seconds(shown->path_s).text, stacks,
			       cpa_format_seconds(shown->cpu_s).text);
	cpa_page_heading(shown->page, text);
	free(text);
	fputs("  path    CPU    calls   line\n", shown->page->out);
	for (size_t i = 0; i < count; i = end) {
		end = i + 1;
		if (!line[i].file) {
			put_instruction(shown, &line[i]);
			continue;
		}
		while (end < count && is_same_part(&line[end], &line[i]))
			end++;
		put_file(shown, &line[i], end - i);
	}
}

/* The function with the @count lines, if @pattern names it. Return whether it does. */
static bool put_function(const struct shown *like, const struct cpa_line_figures *line,
			 size_t count, const char *pattern)
{
	const struct cpa_context_figures *function = line->function;
	const struct cpa_component_figures *c = function->component;
	struct shown shown = *like;

	if (!cpa_is_named(like->profile, CPA_FUNCTION, c ? c->slot : 0, function->name, pattern) &&
	    !(c && cpa_is_function_named(like->profile, c, pattern)))
		return false;
	shown.name = function->name;
	for (size_t i = 0; i < count; i++) {
		shown.path_s += line[i].path_s;
		shown.cpu_s += line[i].cpu_s;
	}
	if (c && c->part) { /* it may have parts without stacks */
		struct cpa_function f = cpa_function_of(like->profile, c);

		shown.path_s = fmax(shown.path_s, f.critical_path_s);
		shown.cpu_s = fmax(shown.cpu_s, f.total_s);
	}
	put_lines(&shown, line, count);
	return true;
}

/*
 * The function that is inlined at the @count lines, if @pattern names it. Return whether it does.
 */
static bool put_inlined(const struct shown *like, const struct cpa_line_figures *line, size_t count,
			const char *pattern)
{
	struct shown shown = *like;

	if (!line->inlined || !cpa_is_named(like->profile, CPA_FUNCTION, 0, line->inlined, pattern))
		return false;
	for (size_t i = 0; i < count; i++) {
		shown.path_s += line[i].path_s;
		shown.cpu_s += line[i].cpu_s;
	}
	shown.name = cpa_format_text("%s, inlined in %s,", line->inlined, line->function->name);
	put_lines(&shown, line, count);
	free(shown.name);
	return true;
}

/* The functions that @pattern names, and those inlined in others. Return whether there are any. */
static bool put_matching(const struct shown *like, const struct cpa_lines *lines,
			 const char *pattern)
{
	bool found = false;
	size_t end;

	for (size_t i = 0; i < lines->count; i = end) {
		const struct cpa_line_figures *first = &lines->line[i];
		size_t part;

		for (end = i; end < lines->count && cpa_lines_are_of_one(first, &lines->line[end]);
		     end++)
			;
		if (put_function(like, first, end - i, pattern)) {
			found = true;
			continue;
		}
		for (; i < end; i = part) {
			for (part = i;
			     part < end && is_same_inlined(&lines->line[i], &lines->line[part]);
			     part++)
				;
			found |= put_inlined(like, &lines->line[i], part - i, pattern);
		}
	}
	return found;
}

bool cpa_text_annotate(const struct cpa_page *page, const struct cpa_profile *profile,
		       const char *pattern, char **error)
{
	const struct shown shown = { .page = page, .profile = profile };
	struct cpa_lines *lines;
	bool found;

	if (!profile->contexts) {
		*error = xstrdup(
			"no stacks were taken in this run: run it again without CPA_STACKS=0");
		return false;
	}
	lines = cpa_lines_of(profile->contexts);
	found = put_matching(&shown, lines, pattern);
	cpa_lines_free(lines);
	if (found)
		cpa_page_paragraph(page, CPA_FAINT, 0,
				   "path, CPU: shares of those of the function, by stacks that end "
				   "at these lines. calls: time on the critical path in what is "
				   "called there.");
	else
		*error = cpa_format_text("no function %s is on a stack (see --level component; * "
					 "and ? stand for any characters)",
					 pattern);
	return found;
}
