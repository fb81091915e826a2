/* SPDX-License-Identifier: MIT */
#include "analysis/render/annotate_text.h"

#include <inttypes.h>
#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/profile/find.h"
#include "analysis/profile/lines.h"
#include "analysis/util/format.h"
#include "analysis/util/printable.h"

#define AROUND 2u /* lines before and after one with time */

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

/* " 70.2%  68.1%    25  text": a line of source; @line: NULL if it has no time. */
static void put_row(const struct cpa_page *page, const struct cpa_line_figures *line,
		    uint64_t number, const char *text)
{
	struct cpa_figure path = { "" }, cpu = { "" };
	char *row, *shown = cpa_printable(text, SIZE_MAX);

	if (line) {
		path = cpa_format_percent(line->path_s, line->function->critical_path_s);
		cpu = cpa_format_percent(line->cpu_s, line->function->total_s);
	}
	row = cpa_format_text("%6s %6s %6" PRIu64 "  %s", path.text, cpu.text, number, shown);
	row[cpa_printable_bytes(row, page->width)] = '\0';
	cpa_page_put(page, line && line->path_s > 0 ? CPA_STRONG : CPA_PLAIN, row);
	fputc('\n', page->out);
	free(row);
	free(shown);
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
static void put_source(const struct cpa_page *page, FILE *source,
		       const struct cpa_line_figures *line, size_t count)
{
	size_t room = 0, next = 0;
	char *text = NULL;
	uint64_t shown = 0;

	for (uint64_t number = 1; getline(&text, &room, source) >= 0; number++) {
		bool more = next < count, after = next && number <= line[next - 1].line + AROUND;
		const struct cpa_line_figures *own =
			more && number == line[next].line ? &line[next] : NULL;

		if (!more && !after)
			break;
		if (!after && number + AROUND < line[next].line)
			continue;
		if (shown && shown + 1 != number)
			fputs("           ...\n", page->out);
		tidy(text);
		put_row(page, own, number, text);
		shown = number;
		next += own != NULL;
	}
	for (; next < count; next++) /* the file is shorter than it was */
		put_row(page, &line[next], line[next].line, "");
	free(text);
}

static void put_file(const struct cpa_page *page, const struct cpa_profile *profile,
		     const struct cpa_line_figures *line, size_t count)
{
	bool changed = false;
	FILE *source = open_source(line->file, profile, &changed);
	char *text = cpa_format_text("%s%s", line->file,
				     !source ? " (cannot be read)" :
				     changed ? " (changed since the run: the lines may be others)" :
					       "");

	cpa_page_put(page, CPA_FAINT, text);
	fputc('\n', page->out);
	if (source) {
		put_source(page, source, line, count);
		fclose(source);
	} else {
		for (size_t i = 0; i < count; i++)
			put_row(page, &line[i], line[i].line, "");
	}
	free(text);
}

/* Code without lines: by instruction. */
static void put_instruction(const struct cpa_page *page, const struct cpa_line_figures *line)
{
	char *text = line->offset ? cpa_format_text("%#" PRIx64, line->offset) :
				    xstrdup("(not known)");

	fprintf(page->out, "%6s %6s  %s\n",
		cpa_format_percent(line->path_s, line->function->critical_path_s).text,
		cpa_format_percent(line->cpu_s, line->function->total_s).text, text);
	free(text);
}

/* Write the @count lines of one function. */
static void put_function(const struct cpa_page *page, const struct cpa_profile *profile,
			 const struct cpa_line_figures *line, size_t count)
{
	const struct cpa_component_figures *function = line->function;
	uint64_t stacks = 0;
	size_t end;
	char *text;

	for (size_t i = 0; i < count; i++)
		stacks += line[i].stacks;
	text = cpa_format_text(
		"%s has %s of the critical path, %s, by %" PRIu64 " stacks on it; %s of CPU time",
		function->name,
		cpa_format_percent(function->critical_path_s, profile->program.critical_path_s).text,
		cpa_format_seconds(function->critical_path_s).text, stacks,
		cpa_format_seconds(function->total_s).text);
	cpa_page_heading(page, text);
	free(text);
	fputs("  path    CPU   line\n", page->out);
	for (size_t i = 0; i < count; i = end) {
		end = i + 1;
		if (!line[i].file) {
			put_instruction(page, &line[i]);
			continue;
		}
		while (end < count && line[end].file && !strcmp(line[end].file, line[i].file))
			end++;
		put_file(page, profile, &line[i], end - i);
	}
}

bool cpa_text_annotate(const struct cpa_page *page, const struct cpa_profile *profile,
		       const char *pattern, char **error)
{
	const struct cpa_lines *lines = profile->lines;
	bool found = false;
	size_t end;

	if (!lines) {
		*error = xstrdup(
			"no stacks were taken in this run: set CPA_STACKS=1 and run it again");
		return false;
	}
	for (size_t i = 0; i < lines->count; i = end) {
		const struct cpa_component_figures *c = lines->line[i].function;

		for (end = i; end < lines->count && lines->line[end].function == c; end++)
			;
		if (!cpa_is_named(profile, c->kind, c->slot, c->name, pattern))
			continue;
		put_function(page, profile, &lines->line[i], end - i);
		found = true;
	}
	if (found)
		cpa_page_paragraph(page, CPA_FAINT, 0,
				   "Shares of the function's path and CPU time, by stacks at these "
				   "lines.");
	else
		*error = cpa_format_text("no function %s was sampled (see --level component; * and "
					 "? stand for any characters)",
					 pattern);
	return found;
}
