/* SPDX-License-Identifier: MIT */
/* analysis/top_mark.c - one mark: what lies between it and its neighbours, and others of its name */
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/format.h"
#include "analysis/top_detail.h"

/* "500 ms", "-20 ms": paths of different threads may differ either way. */
static char *format_change(double seconds)
{
	return cpa_format_text("%s%s", seconds < 0 ? "-" : "",
			       cpa_format_seconds(fabs(seconds)).text);
}

static void put_between(struct cpa_top_screen *screen, const char *what,
			const struct cpa_mark_figures *from, const struct cpa_mark_figures *to,
			const struct cpa_mark_figures *other)
{
	char *path = format_change(to->critical_path_s - from->critical_path_s);

	cpa_top_say(screen, "%s, %s: %s, in which the path grew by %s", what, other->name,
		    cpa_format_seconds(to->at_s - from->at_s).text, path);
	free(path);
}

/* The marks of the name of @mark, those around it if they are too many for the screen. */
static void put_others(const struct cpa_profile *profile, const struct cpa_mark_figures *mark,
		       struct cpa_top_screen *screen, size_t below)
{
	const struct cpa_mark_figures **same = xcalloc(profile->marks, sizeof(*same));
	size_t room = cpa_top_room(screen, below + 2), count = 0, here = 0, first;
	struct cpa_table_text table = { 0 };
	struct cpa_top_sheet sheet;

	for (size_t i = 0; i < profile->marks; i++)
		if (strcmp(profile->mark[i].name, mark->name) == 0) {
			here = &profile->mark[i] == mark ? count : here;
			same[count++] = &profile->mark[i];
		}
	cpa_top_put(screen, CPA_TOP_FAINT,
		    cpa_format_text(
			    "%zu of this name, apart %s on average", count,
			    count < 2 ? "-" :
					cpa_format_seconds((same[count - 1]->at_s - same[0]->at_s) /
							   (double)(count - 1))
						.text));
	cpa_table_column(&table, "at", false);
	cpa_table_column(&table, "after", false);
	cpa_table_column(&table, "path", false);
	cpa_table_column(&table, "grew by", false);
	cpa_table_column(&table, "thread", false);
	first = here > room / 2 ? here - room / 2 : 0;
	first = first + room > count ? (count > room ? count - room : 0) : first;
	for (size_t i = first; i < count && i - first < room; i++) {
		struct cpa_figure at = cpa_format_seconds(same[i]->at_s);
		struct cpa_figure path = cpa_format_seconds(same[i]->critical_path_s);
		char *after = xstrdup("-"), *grew = xstrdup("-");
		char *thread = same[i]->tid ? cpa_format_text("%u", same[i]->tid) : xstrdup("?");

		if (i > 0) {
			free(after);
			free(grew);
			after = xstrdup(cpa_format_seconds(same[i]->at_s - same[i - 1]->at_s).text);
			grew = format_change(same[i]->critical_path_s -
					     same[i - 1]->critical_path_s);
		}
		cpa_table_row(&table,
			      (const char *const[]){ at.text, after, path.text, grew, thread });
		free(after);
		free(grew);
		free(thread);
	}
	cpa_top_sheet_begin(&sheet, screen);
	cpa_table_end(&table, &sheet.page);
	cpa_top_sheet_end(&sheet, screen, here - first, below);
	free(same);
}

void cpa_top_put_mark(const struct cpa_top *top, struct cpa_top_screen *screen, size_t i,
		      size_t below)
{
	const struct cpa_profile *profile = top->now.profile;
	const struct cpa_mark_figures *mark = &profile->mark[i];
	char *thread = mark->tid ? cpa_format_text(" by thread %u", mark->tid) : xstrdup("");

	cpa_top_put(screen, CPA_TOP_STRONG, cpa_format_text("mark %s", mark->name));
	cpa_top_say(screen, "at %s%s; the longest chain of work to it is %s",
		    cpa_format_seconds(mark->at_s).text, thread,
		    cpa_format_seconds(mark->critical_path_s).text);
	free(thread);
	if (i > 0)
		put_between(screen, "after the mark before it", mark - 1, mark, mark - 1);
	if (i + 1 < profile->marks)
		put_between(screen, "up to the next", mark, mark + 1, mark + 1);
	put_others(profile, mark, screen, below);
}
