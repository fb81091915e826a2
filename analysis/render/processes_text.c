/* SPDX-License-Identifier: MIT */
#include "analysis/render/processes_text.h"

#include <inttypes.h>
#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/render/parts_text.h"
#include "analysis/util/format.h"
#include "analysis/profile/processes.h"

static int compare(const void *a, const void *b)
{
	const struct cpa_process_figures *x = a, *y = b;

	if (x->cpu_s != y->cpu_s)
		return x->cpu_s > y->cpu_s ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static uint32_t pid_of(const struct cpa_profile *profile, uint64_t id)
{
	for (size_t i = 0; i < profile->processes; i++)
		if (profile->process[i].id == id)
			return profile->process[i].pid;
	return 0;
}

/* The command and, unless it has just ended, how that was. */
static char *title_of(const struct cpa_process_figures *process)
{
	bool ended = process->ending == CPA_ENDING_SEEN;
	char *title = cpa_process_title(process), *text;

	text = cpa_format_text("%s%s%s", title, ended ? "" : ", ",
			       ended ? "" : cpa_ending_word(process->ending));
	free(title);
	return text;
}

static void put_row(struct cpa_table_text *table, const struct cpa_profile *profile,
		    const struct cpa_process_figures *process)
{
	struct cpa_figure cpu_margin = cpa_text_margin(process->cpu_margin_s, cpa_format_seconds);
	struct cpa_figure wait_margin = cpa_text_margin(process->wait_margin_s, cpa_format_seconds);
	struct cpa_figure cpu = cpa_format_seconds(process->cpu_s);
	struct cpa_figure wait = cpa_format_seconds(process->wait_s);
	struct cpa_figure external = cpa_format_seconds(process->external_s);
	struct cpa_figure start = cpa_format_seconds(process->start_s);
	struct cpa_figure end = cpa_format_seconds(process->end_s);
	uint32_t parent = pid_of(profile, process->parent);
	char pid[24], from[16] = "", threads[16], *title = title_of(process);
	const char *cells[CPA_TABLE_COLUMNS];
	size_t count = 0;

	if (process->pid)
		snprintf(pid, sizeof(pid), "%" PRIu32, process->pid);
	else /* a sum, of one perhaps */
		snprintf(pid, sizeof(pid), "%" PRIu64 " more", process->count);
	if (parent)
		snprintf(from, sizeof(from), "%" PRIu32, parent);
	snprintf(threads, sizeof(threads), "%" PRIu32, process->threads);
	cells[count++] = pid;
	cells[count++] = from;
	cells[count++] = cpu.text;
	if (profile->program.batches)
		cells[count++] = cpu_margin.text;
	cells[count++] = wait.text;
	if (profile->program.batches)
		cells[count++] = wait_margin.text;
	cells[count++] = external.text;
	cells[count++] = start.text;
	cells[count++] = process->end_s > 0 ? end.text : "";
	cells[count++] = threads;
	cells[count++] = title;
	cpa_table_row(table, cells);
	free(title);
}

void cpa_text_processes(const struct cpa_page *page, const struct cpa_profile *profile, size_t top)
{
	struct cpa_process_figures *sorted = xcalloc(profile->processes + 1, sizeof(*sorted));
	struct cpa_table_text table = { 0 };
	bool has_sums = false;

	cpa_page_heading(page, "Processes");
	cpa_table_column(&table, "pid", false);
	cpa_table_column(&table, "parent", false);
	cpa_table_column(&table, "CPU", false);
	if (profile->program.batches)
		cpa_table_column(&table, "+-", false);
	cpa_table_column(&table, "wait", false);
	if (profile->program.batches)
		cpa_table_column(&table, "+-", false);
	cpa_table_column(&table, "external", false);
	cpa_table_column(&table, "start", false);
	cpa_table_column(&table, "end", false);
	cpa_table_spare(&table, "threads");
	cpa_table_column(&table, "command", true);
	memcpy(sorted, profile->process, profile->processes * sizeof(*sorted));
	qsort(sorted, profile->processes, sizeof(*sorted), compare);
	for (size_t i = 0; i < profile->processes && i < top; i++) {
		put_row(&table, profile, &sorted[i]);
		has_sums |= sorted[i].threads > sorted[i].images;
	}
	cpa_table_end(&table, page);
	cpa_page_foot(page, profile->processes, top,
		      has_sums ? "CPU, wait, external: sums over the threads of a process." : NULL);
	free(sorted);
}
