/* SPDX-License-Identifier: MIT */
/* analysis/render/sections.c - queues, marks and instrumented procedures, as text */
#include "analysis/render/sections.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>

#include "analysis/profile/balance.h"
#include "analysis/profile/components.h"
#include "analysis/profile/parts.h"
#include "analysis/profile/queues.h"
#include "analysis/render/parts_text.h"
#include "analysis/util/format.h"
#include "analysis/util/printable.h"

#define DOMINATES 1.1 /* one side dominates if its work is so many times the other's */
#define INCLUSIVE 2u  /* column of the procedures: of this time windows have no sums */

/* Classes known by a site have names such as "queue first used in f" already. */
static void write_name(FILE *out, const struct cpa_queue_figures *queue)
{
	bool named = queue->by == CPA_BY_NAME || queue->by == CPA_BY_VARIABLE;

	fprintf(out, "%s%s", named ? "queue " : "", queue->name);
	if (queue->location)
		fprintf(out, " (%s)", cpa_printable_base(queue->location));
	if (queue->queues > 1)
		fprintf(out, ", %s of them", cpa_format_count(queue->queues).text);
}

static void write_count(FILE *out, uint64_t count, const char *of)
{
	if (count)
		fprintf(out, ", %s %s", cpa_format_count(count).text, of);
}

static void write_items(FILE *out, const struct cpa_queue_figures *queue)
{
	fprintf(out, "%s items in, %s out", cpa_format_count(queue->enqueued).text,
		cpa_format_count(queue->dequeued).text);
	write_count(out, queue->never_dequeued, "still in it");
	write_count(out, queue->unmatched, "out that never went in");
	write_count(out, queue->twice, "in twice");
	fprintf(out, "; %u producer%s, %u consumer%s", queue->producers,
		queue->producers == 1 ? "" : "s", queue->consumers,
		queue->consumers == 1 ? "" : "s");
	write_count(out, queue->undone, "without CPA_ITEM_DONE");
}

/* The text states the model's assumptions, without which its figures mean little. */
static void write_master(FILE *out, const struct cpa_queue_figures *queue)
{
	const struct cpa_master_figures *master = &queue->master;
	double workers_s = master->workers_s / (master->workers ? master->workers : 1);
	const char *balance = "they balance";

	if (master->trouble) {
		fprintf(out, " No master and workers (IPS, Appendix 3): %s.", master->trouble);
		return;
	}
	if (master->master_s > DOMINATES * workers_s)
		balance = "the master dominates";
	else if (workers_s > DOMINATES * master->master_s)
		balance = "the workers dominate";
	fprintf(out,
		" Master and workers (IPS, Appendix 3): work %s and %s (%s for each of %u), on the "
		"path %s and %s: %s. If the master's work grows with the workers and has no fixed "
		"part, "
		"both sides take turns and workers share evenly, the path is shortest with %u "
		"worker%s: %s, where it is %s now. If the master's work depends on the items only, "
		"more workers shorten it, to no less than %s.",
		cpa_format_seconds(master->master_s).text,
		cpa_format_seconds(master->workers_s).text, cpa_format_seconds(workers_s).text,
		master->workers, cpa_format_seconds(queue->producers_path_s).text,
		cpa_format_seconds(queue->consumers_path_s).text, balance, master->best_workers,
		master->best_workers == 1 ? "" : "s", cpa_format_seconds(master->best_path_s).text,
		cpa_format_seconds(master->path_s).text, cpa_format_seconds(master->master_s).text);
}

void cpa_text_queue(const struct cpa_page *page, const struct cpa_queue_figures *queue)
{
	char *text, *reason = cpa_balance_reason(queue);
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		xmalloc_failed(1);
	write_name(out, queue);
	fprintf(out, ": %s. ", reason);
	write_items(out, queue);
	fputc('.', out);
	if (queue->services && (queue->master.trouble || queue->master.fits))
		write_master(out, queue);
	if (fclose(out))
		xmalloc_failed(size);
	cpa_page_paragraph(page, CPA_PLAIN, 2, text);
	free(text);
	free(reason);
}

static void put_queue_row(struct cpa_table_text *table, const struct cpa_profile *profile,
			  const struct cpa_queue_figures *queue)
{
	struct cpa_figure saves = cpa_format_seconds(queue->saved_s);
	struct cpa_figure path =
		cpa_format_percent(queue->critical_path_s, profile->program.critical_path_s);
	struct cpa_figure waited = cpa_format_seconds(queue->wait_s);
	struct cpa_figure half = cpa_format_seconds(queue->wait_p50_s);
	struct cpa_figure most = cpa_format_seconds(queue->wait_p99_s);
	struct cpa_figure service = cpa_format_seconds(queue->service_s);
	struct cpa_figure depth = cpa_format_ratio(queue->mean_depth);
	struct cpa_figure largest = cpa_format_count(queue->max_depth);
	struct cpa_figure margin = cpa_text_margin(queue->saved_margin_s, cpa_format_seconds);
	struct cpa_figure wait_margin = cpa_text_margin(queue->wait_margin_s, cpa_format_seconds);
	const char *cells[CPA_TABLE_COLUMNS];
	size_t count = 0;

	cells[count++] = queue->slot ? saves.text : "?";
	if (profile->program.batches)
		cells[count++] = margin.text;
	cells[count++] = queue->slot ? path.text : "?";
	cells[count++] = waited.text;
	if (profile->program.batches)
		cells[count++] = wait_margin.text;
	cells[count++] = half.text;
	cells[count++] = most.text;
	cells[count++] = service.text;
	cells[count++] = depth.text;
	cells[count++] = largest.text;
	cells[count++] = queue->name;
	cpa_table_row(table, cells);
}

void cpa_text_queues(const struct cpa_page *page, const struct cpa_profile *profile, size_t top)
{
	struct cpa_table_text table = { 0 };

	if (profile->queues == 0)
		return;
	cpa_page_heading(page, "Queues, and the processing of their items");
	cpa_table_column(&table, "saves", false);
	if (profile->program.batches)
		cpa_table_column(&table, "+-", false);
	cpa_table_column(&table, "path", false);
	cpa_table_column(&table, "waited", false);
	if (profile->program.batches)
		cpa_table_column(&table, "+-", false);
	cpa_table_column(&table, "p50", false);
	cpa_table_column(&table, "p99", false);
	cpa_table_column(&table, "service", false);
	cpa_table_column(&table, "depth", false);
	cpa_table_column(&table, "max", false);
	cpa_table_column(&table, "queue", true);
	for (size_t i = 0; i < profile->queues && i < top; i++)
		put_queue_row(&table, profile, &profile->queue[i]);
	cpa_table_end(&table, page);
	cpa_page_foot(
		page, profile->queues, top,
		"saves, path: for the processing of the items. waited: mean time of an item in "
		"the queue; p50 and p99 are exact to 12 %. depth: mean number of items in the "
		"queue over the run.");
	for (size_t i = 0; i < profile->queues && i < top; i++)
		cpa_text_queue(page, &profile->queue[i]);
}

void cpa_text_marks(const struct cpa_page *page, const struct cpa_profile *profile, size_t top)
{
	struct cpa_table_text table = { 0 };

	if (profile->marks == 0)
		return;
	cpa_page_heading(page, "Marks");
	cpa_table_column(&table, "at", false);
	cpa_table_column(&table, "path so far", false);
	cpa_table_column(&table, "thread", false);
	cpa_table_column(&table, "mark", true);
	for (size_t i = 0; i < profile->marks && i < top; i++) {
		const struct cpa_mark_figures *mark = &profile->mark[i];
		struct cpa_figure at = cpa_format_seconds(mark->at_s);
		struct cpa_figure path = cpa_format_seconds(mark->critical_path_s);
		char *thread = mark->tid ? cpa_format_text("%u", mark->tid) : xstrdup("?");

		cpa_table_row(&table,
			      (const char *const[]){ at.text, path.text, thread, mark->name });
		free(thread);
	}
	cpa_table_end(&table, page);
	cpa_page_foot(page, profile->marks, top,
		      "path so far: length of the longest chain of work that leads to the mark.");
}

static void put_procedure(struct cpa_table_text *table, const struct cpa_profile *profile,
			  const struct cpa_component_figures *component)
{
	const struct {
		struct cpa_figure figure, margin;
		bool known;
	} times[] = {
		{ cpa_format_seconds(component->total_s),
		  cpa_text_margin(component->total_margin_s, cpa_format_seconds), true },
		{ cpa_format_seconds(component->saved_s),
		  cpa_text_margin(component->saved_margin_s, cpa_format_seconds), true },
		{ cpa_format_seconds(component->inclusive_s), { "" }, true },
		{ cpa_format_seconds(component->whole_saved_s),
		  cpa_text_margin(component->whole_saved_margin_s, cpa_format_seconds),
		  component->has_whole },
	};
	struct cpa_figure calls = cpa_format_count(component->calls);
	const char *cells[CPA_TABLE_COLUMNS];
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		cells[count++] = times[i].known ? times[i].figure.text : "?";
		if (profile->program.batches && i != INCLUSIVE)
			cells[count++] = times[i].margin.text;
	}
	cells[count++] = calls.text;
	cells[count++] = component->name;
	cells[count] = cpa_printable_where(component->name, component->location);
	cpa_table_row(table, cells);
}

void cpa_text_procedures(const struct cpa_page *page, const struct cpa_profile *profile, size_t top)
{
	static const char *const heads[] = { "self", "saves", "inclusive", "saves" };
	struct cpa_table_text table = { 0 };
	size_t shown = 0;

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		cpa_table_column(&table, heads[i], false);
		if (profile->program.batches && i != INCLUSIVE)
			cpa_table_column(&table, "+-", false);
	}
	cpa_table_column(&table, "calls", false);
	cpa_table_column(&table, "procedure", true);
	cpa_table_remark(&table, "where");
	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *component = &profile->component[i];

		if (component->kind == CPA_FUNCTION && component->calls && shown++ < top)
			put_procedure(&table, profile, component);
	}
	if (shown == 0)
		return;
	cpa_page_heading(page, "Procedures of the instrumented build: exact, not sampled");
	cpa_table_end(&table, page);
	cpa_page_foot(page, shown, top,
		      "self: CPU time in the function. inclusive: with its callees and with time "
		      "blocked outside synchronization. saves: what the run would gain without the "
		      "function and its callees.");
}
