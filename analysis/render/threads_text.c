/* SPDX-License-Identifier: MIT */
/* analysis/render/threads_text.c - the table of threads, as text */
#include "analysis/render/threads_text.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/derived/find.h"
#include "analysis/render/parts_text.h"
#include "analysis/util/format.h"
#include "analysis/profile/threads.h"

static int compare_cpu(const void *a, const void *b)
{
	const struct cpa_thread_figures *x = a, *y = b;

	if (x->cpu_s != y->cpu_s)
		return x->cpu_s > y->cpu_s ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void put_thread(struct cpa_table_text *table, const struct cpa_profile *profile,
		       const struct cpa_thread_figures *thread, bool has_margins)
{
	struct cpa_figure cpu = cpa_format_seconds(thread->cpu_s);
	struct cpa_figure cpu_margin = cpa_text_margin(thread->cpu_margin_s, cpa_format_seconds);
	struct cpa_figure wait = cpa_format_seconds(thread->wait_s);
	struct cpa_figure wait_margin = cpa_text_margin(thread->wait_margin_s, cpa_format_seconds);
	struct cpa_figure external = cpa_format_seconds(thread->external_s);
	struct cpa_figure runqueue = cpa_format_seconds(thread->runqueue_s);
	struct cpa_figure path = cpa_format_seconds(thread->critical_path_s);
	const char *cells[CPA_TABLE_COLUMNS];
	size_t count = 0;
	char id[32], *title = cpa_thread_title(profile, thread);

	if (thread->earlier)
		snprintf(id, sizeof(id), "%u +%u", thread->tid, thread->earlier);
	else
		snprintf(id, sizeof(id), "%u", thread->tid);
	cells[count++] = id;
	cells[count++] = cpu.text;
	if (has_margins)
		cells[count++] = cpu_margin.text;
	cells[count++] = wait.text;
	if (has_margins)
		cells[count++] = wait_margin.text;
	cells[count++] = external.text;
	cells[count++] = runqueue.text;
	cells[count++] = path.text;
	cells[count++] = thread->name;
	cells[count++] = title ? title : thread->start_routine;
	cpa_table_row(table, cells);
	free(title);
}

#define SPUN 0.01 /* of the CPU time: less is that of the calls which wait */

/* Waits on a processor, as those of OpenMP: they are no work, and leave other threads less of it. */
static void put_spun(const struct cpa_page *page, const struct cpa_program_figures *program)
{
	char *text;

	if (program->wait_cpu_s < SPUN * program->cpu_s)
		return;
	text = cpa_format_text("The threads waited %s, of it %s spinning on a processor.",
			       cpa_format_seconds(program->wait_s).text,
			       cpa_format_seconds(program->wait_cpu_s).text);
	cpa_page_paragraph(page, CPA_PLAIN, 0, text);
	free(text);
}

void cpa_text_threads(const struct cpa_page *page, const struct cpa_profile *profile, size_t top)
{
	struct cpa_thread_figures *sorted = xcalloc(profile->threads + 1, sizeof(*sorted));
	bool has_margins = profile->program.batches;
	struct cpa_table_text table = { 0 };
	bool has_earlier = false;

	cpa_page_heading(page, "Threads");
	cpa_table_column(&table, "id", false);
	cpa_table_column(&table, "CPU", false);
	if (has_margins)
		cpa_table_column(&table, "+-", false);
	cpa_table_column(&table, "wait", false);
	if (has_margins)
		cpa_table_column(&table, "+-", false);
	if (has_margins) /* else there is no room for names */
		cpa_table_spare(&table, "external");
	else
		cpa_table_column(&table, "external", false);
	cpa_table_column(&table, "run queue", false);
	cpa_table_column(&table, "path", false);
	cpa_table_column(&table, "name", true);
	cpa_table_column(&table, "start routine", true);
	memcpy(sorted, profile->thread, profile->threads * sizeof(*sorted));
	qsort(sorted, profile->threads, sizeof(*sorted), compare_cpu);
	for (size_t i = 0; i < profile->threads && i < top; i++) {
		put_thread(&table, profile, &sorted[i], has_margins);
		has_earlier |= sorted[i].earlier > 0;
	}
	cpa_table_end(&table, page);
	cpa_page_foot(
		page, profile->threads, top,
		has_earlier ?
			"+N: the row also has the times of N threads that ended before; name and "
			"start are what all of them had, the path is the last one's." :
			NULL);
	put_spun(page, &profile->program);
	free(sorted);
}
