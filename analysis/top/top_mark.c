/* SPDX-License-Identifier: MIT */
/*
 * analysis/top/top_mark.c - details page of a mark: the time to its neighbours and to other marks
 * of its name
 */
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/util/format.h"
#include "analysis/top/top_detail.h"
#include "analysis/profile/parts.h"

/* "500 ms", "-20 ms": the difference of two paths of different threads may be negative. */
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

/* Add a row for @mark; @before: the previous mark of its name, NULL for the first. */
static void put_row(struct cpa_table_text *table, const struct cpa_mark_figures *mark,
		    const struct cpa_mark_figures *before)
{
	struct cpa_figure at = cpa_format_seconds(mark->at_s), after = { "-" };
	struct cpa_figure path = cpa_format_seconds(mark->critical_path_s);
	char *thread = mark->tid ? cpa_format_text("%u", mark->tid) : xstrdup("?");
	char *grew = before ? format_change(mark->critical_path_s - before->critical_path_s) :
			      xstrdup("-");

	if (before)
		after = cpa_format_seconds(mark->at_s - before->at_s);
	cpa_table_row(table, (const char *const[]){ at.text, after.text, path.text, grew, thread });
	free(thread);
	free(grew);
}

/* Add rows for the @count marks @same (indexes); on a small screen those around number @here. */
static void put_rows(const struct cpa_profile *profile, const size_t *same, size_t count,
		     size_t here, struct cpa_top_screen *screen, size_t below)
{
	size_t room = cpa_top_room(screen, below + 1), first = 0;
	struct cpa_table_text table = { 0 };
	struct cpa_top_sheet sheet;

	if (count > room)
		first = here > room / 2 ? here - room / 2 : 0;
	if (count > room && first > count - room)
		first = count - room;
	cpa_table_column(&table, "at", false);
	cpa_table_column(&table, "after", false);
	cpa_table_column(&table, "path", false);
	cpa_table_column(&table, "grew by", false);
	cpa_table_column(&table, "thread", false);
	for (size_t i = first; i < count && i - first < room; i++)
		put_row(&table, &profile->mark[same[i]], i ? &profile->mark[same[i - 1]] : NULL);
	cpa_top_sheet_begin(&sheet, screen);
	cpa_table_end(&table, &sheet.page);
	cpa_top_sheet_end(&sheet, screen, here - first, below);
}

/* Add all marks with the name of @mark. */
static void put_others(const struct cpa_profile *profile, const struct cpa_mark_figures *mark,
		       struct cpa_top_screen *screen, size_t below)
{
	size_t *same = xcalloc(profile->marks, sizeof(*same)), count = 0, here = 0;
	struct cpa_figure apart = { "-" };

	for (size_t i = 0; i < profile->marks; i++)
		if (strcmp(profile->mark[i].name, mark->name) == 0) {
			here = &profile->mark[i] == mark ? count : here;
			same[count++] = i;
		}
	if (count > 1)
		apart = cpa_format_seconds(
			(profile->mark[same[count - 1]].at_s - profile->mark[same[0]].at_s) /
			(double)(count - 1));
	cpa_top_put(screen, CPA_TOP_FAINT,
		    cpa_format_text("%zu of this name, apart %s on average", count, apart.text));
	put_rows(profile, same, count, here, screen, below);
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
