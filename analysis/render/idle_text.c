/* SPDX-License-Identifier: MIT */
/* analysis/render/idle_text.c - the table of idle time and of waits for nobody known */
#include "analysis/render/sections.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/render/parts_text.h"
#include "analysis/util/format.h"
#include "analysis/profile/components.h"

#define WORTH 0.001 /* of the wall time of one thread: less is not shown */

static bool is_shown(const struct cpa_component_figures *component, double wall_s)
{
	return component->kind == CPA_EXTERNAL && component->class != CPA_EXT_SERVICE &&
	       component->total_s > WORTH * wall_s;
}

/* What the name of a kind means; NULL: the name says it. */
static const char *explain(const struct cpa_component_figures *component)
{
	static const struct {
		const char *name, *text;
	} known[] = {
		{ "timeout", "waits that ended by their time-out" },
		{ "input", "reads that answer no request: terminals, pipes, connections" },
		{ "sleep loop", "sleeps of threads that do little but sleep" },
		{ "blocked", "in no call that cpa wraps, without device input" },
		{ "in signal", "in or after a signal, broadcast or post: locks in the C library" },
		{ "in unlock", "in or after an unlock: locks in the C library or the kernel" },
		{ "in create", "in or after the creation of a thread or process" },
		{ "unseen", "in synchronization; cpa did not see the release" },
		{ "signal", "waits for signals" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(component->name, known[i].name) == 0)
			return known[i].text;
	return NULL;
}

/* Whether waits across the borders of profiled parts, whose kind is not known, are worth a line. */
static bool has_borders(const struct cpa_program_figures *program)
{
	return program->border_s > WORTH * program->wall_s;
}

static void put_borders(struct cpa_table_text *table, const struct cpa_program_figures *program)
{
	struct cpa_figure wall =
		cpa_format_percent(program->segment_border_s, program->observed_path_s);
	struct cpa_figure total = cpa_format_seconds(program->border_s);
	const char *cells[CPA_TABLE_COLUMNS];
	size_t count = 0;

	cells[count++] = wall.text;
	cells[count++] = total.text;
	if (program->batches)
		cells[count++] = "";
	cells[count++] = cpa_blocked_word(CPA_EXT_WAIT);
	cells[count++] = "border";
	cells[count++] = "across the begin or end of a part of the run";
	cpa_table_row(table, cells);
}

static void put_row(struct cpa_table_text *table, const struct cpa_program_figures *program,
		    const struct cpa_component_figures *component)
{
	struct cpa_figure wall =
		cpa_format_percent(component->observed_path_s, program->observed_path_s);
	struct cpa_figure total = cpa_format_seconds(component->total_s);
	struct cpa_figure margin = cpa_text_margin(component->total_margin_s, cpa_format_seconds);
	const char *text = explain(component), *cells[CPA_TABLE_COLUMNS];
	size_t count = 0;

	cells[count++] = wall.text;
	cells[count++] = total.text;
	if (program->batches)
		cells[count++] = margin.text;
	cells[count++] = cpa_blocked_word(component->class);
	cells[count++] = component->name;
	cells[count++] = text ? text : "";
	cpa_table_row(table, cells);
}

void cpa_text_idle(const struct cpa_page *page, const struct cpa_profile *profile, size_t top)
{
	const struct cpa_program_figures *program = &profile->program;
	struct cpa_table_text table = { 0 };
	size_t shown = has_borders(program);

	for (size_t i = 0; i < profile->components; i++)
		shown += is_shown(&profile->component[i], program->wall_s);
	if (!shown)
		return;
	cpa_page_heading(page, "Idle time and waits for nobody known: not on the critical path");
	cpa_table_column(&table, "wall", false);
	cpa_table_column(&table, "all threads", false);
	if (program->batches)
		cpa_table_column(&table, "+-", false);
	cpa_table_column(&table, "class", true);
	cpa_table_column(&table, "in", true);
	cpa_table_remark(&table, "which are");
	shown = has_borders(program);
	if (shown)
		put_borders(&table, program);
	for (size_t i = 0; i < profile->components; i++) {
		if (is_shown(&profile->component[i], program->wall_s) && shown++ < top)
			put_row(&table, program, &profile->component[i]);
	}
	cpa_table_end(&table, page);
	cpa_page_foot(page, shown, top, NULL);
}
