/* SPDX-License-Identifier: MIT */
#include "analysis/render/teams_text.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>

#include "analysis/derived/teams.h"
#include "analysis/render/construct_text.h"
#include "analysis/util/format.h"
#include "analysis/util/printable.h"
#include "analysis/profile/components.h"

#define THREADS 16   /* of each row, as text */
#define READY	0.20 /* of the observed path: processors were missing */

static struct cpa_figure percent(double ratio)
{
	return cpa_format_percent(ratio, ratio > 0 ? 1 : 0);
}

/* That processors were missing, which lowers transfer, or "". The caller frees it. */
static char *lowered(const struct cpa_program_figures *program)
{
	double ready_s = program->segment_s[CPA_TIME_RUNQUEUE];

	if (ready_s <= READY * program->observed_path_s)
		return xstrdup("");
	return cpa_format_text(
		" Transfer is low, as for %s of the run the next step waited for a processor.",
		cpa_format_percent(ready_s, program->observed_path_s).text);
}

static void put_program(const struct cpa_page *page, const struct cpa_profile *profile)
{
	const struct cpa_teams *teams = profile->teams;
	const struct cpa_efficiency *e = &teams->efficiency;
	char *low = lowered(&profile->program);
	char *text = cpa_format_text(
		"In regions %s, outside %s. Parallel efficiency of %u thread%s %s = load balance %s x "
		"communication %s (serialisation %s x transfer %s). With all regions balanced the "
		"critical path is %s shorter.%s",
		cpa_format_seconds(teams->parallel_s).text,
		cpa_format_seconds(teams->serial_s).text, teams->threads,
		teams->threads == 1 ? "" : "s", percent(cpa_efficiency_parallel(e)).text,
		percent(e->load_balance).text, percent(cpa_efficiency_communication(e)).text,
		percent(e->serialisation).text, percent(e->transfer).text,
		cpa_format_seconds(teams->balanced_saved_s).text, low);

	cpa_page_paragraph(page, CPA_PLAIN, 2, text);
	free(text);
	free(low);
}

/* "68%" */
static struct cpa_figure whole_percent(double ratio)
{
	struct cpa_figure figure = { "-" };

	if (ratio > 0)
		snprintf(figure.text, sizeof(figure.text), "%.0f%%", 100 * ratio);
	return figure;
}

static void put_row(struct cpa_table_text *table, const struct cpa_team_figures *row)
{
	const struct cpa_efficiency *e = &row->efficiency;
	struct cpa_figure balanced = cpa_format_seconds(row->balanced_saved_s);
	struct cpa_figure busiest = cpa_format_seconds(row->threads ? row->thread[0].work_s : 0);
	struct cpa_figure waits = cpa_format_seconds(row->wait_s);
	struct cpa_figure even = whole_percent(e->load_balance);
	struct cpa_figure serial = whole_percent(e->serialisation);
	struct cpa_figure transfer = whole_percent(e->transfer),
			  times = cpa_format_count(row->instances);
	struct cpa_figure threads = cpa_format_count(row->threads);
	bool at = row->construct && row->location;
	char *region = at ? cpa_format_text("up to %s", cpa_printable_base(row->location)) :
			    cpa_text_region(row->name);
	char *name = cpa_format_text("%s%s", row->construct ? "- " : "", region);

	cpa_table_row(table, (const char *const[]){ balanced.text, busiest.text, waits.text,
						    even.text, serial.text, transfer.text,
						    times.text, threads.text, name });
	free(region);
	free(name);
}

static void put_table(const struct cpa_page *page, const struct cpa_teams *teams, size_t top)
{
	struct cpa_table_text table = { 0 };

	cpa_table_column(&table, "balanced", false);
	cpa_table_column(&table, "busiest", false);
	cpa_table_column(&table, "waits", false);
	cpa_table_column(&table, "LB", false);
	cpa_table_column(&table, "SerE", false);
	cpa_table_column(&table, "TraE", false);
	cpa_table_column(&table, "times", false);
	cpa_table_column(&table, "n", false);
	cpa_table_column(&table, "region", true);
	for (size_t i = 0; i < teams->rows && i < top; i++)
		put_row(&table, &teams->row[i]);
	cpa_table_end(&table, page);
	cpa_page_foot(
		page, teams->rows, top,
		"balanced: what the critical path would lose if between barriers each thread "
		"had the mean work; - up to: the part of it up to a barrier. busiest: work of the thread with most, of n. waits: of all "
		"in barriers. LB: load balance, mean / busiest. SerE: serialisation, busiest / "
		"longest chain. TraE: transfer, chain / time from begin to end.");
}

static void put_threads(const struct cpa_page *page, const struct cpa_team_figures *row)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		xmalloc_failed(1);
	fprintf(out, "%s: ", row->name);
	for (uint32_t i = 0; i < row->threads && i < THREADS; i++) {
		const struct cpa_team_thread *t = &row->thread[i];

		fprintf(out, "%sthread %u works %s, waits %s", i ? "; " : "", t->tid,
			cpa_format_seconds(t->work_s).text, cpa_format_seconds(t->wait_s).text);
	}
	if (row->threads > THREADS)
		fprintf(out, "; %u more work less", row->threads - THREADS);
	fputc('.', out);
	if (fclose(out))
		xmalloc_failed(size);
	cpa_page_paragraph(page, CPA_PLAIN, 2, text);
	free(text);
}

static bool has_tasks(const struct cpa_profile *profile)
{
	bool any = false;

	for (size_t i = 0; i < profile->components; i++)
		any |= cpa_teams_are_tasks(profile, &profile->component[i]);
	return any;
}

void cpa_text_teams(const struct cpa_page *page, const struct cpa_profile *profile, size_t top,
		    bool threads)
{
	const struct cpa_teams *teams = profile->teams;
	bool none = !teams || teams->trouble;

	if (!cpa_teams_any(profile) || (none && !threads))
		return;
	cpa_page_heading(page, "Parallel regions (OpenMP)");
	if (none) {
		cpa_page_paragraph(page, CPA_PLAIN, 2,
				   teams ? teams->trouble :
					   "The work of each thread in each region needs a journal "
					   "(cpa run --journal).");
		return;
	}
	put_program(page, profile);
	put_table(page, teams, top);
	if (has_tasks(profile))
		cpa_page_paragraph(
			page, CPA_PLAIN, 2,
			"How many threads its tasks can use: cpa-report --threads 1,2,4.");
	for (size_t i = 0; threads && i < teams->rows && i < top; i++)
		if (!teams->row[i].construct)
			put_threads(page, &teams->row[i]);
}
